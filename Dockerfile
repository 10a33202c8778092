# syntax=docker/dockerfile:1

# The toolchain is `rust-version` of Cargo.toml.
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
# The tests package comes along because cargo reads the manifest of every workspace member; it is not built.
COPY . .
# Downloads and compiled dependencies outlive the build. They are not part of the layer, so the executable is taken out
# in the same step. Locked, because compose may build the image for two services at once.
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/src/target,sharing=locked \
    cargo build --locked --profile dist --package dripfeed --features otlp \
 && install -D target/dist/dripfeed /out/dripfeed

# No shell and no package manager: glibc and what the executable is linked with (tests/deploy/image compares). The health
# check is `dripfeed ready`. Root certificates are compiled in. The Debian release is that of the first stage, for its glibc.
FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /out/dripfeed /usr/local/bin/dripfeed
COPY LICENSE /usr/share/doc/dripfeed/LICENSE
# A number, so that an orchestrator can see that it isn't root.
USER 10001:10001
EXPOSE 7180 7181
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/local/bin/dripfeed"]
