# syntax=docker/dockerfile:1

# The toolchain is `rust-version` of Cargo.toml.
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
# What `make dist` runs besides cargo: the load of its profile needs a Redis. Debian keeps one version of each, so there is
# none to pin.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends llvm-19 make redis-server \
 && rm -rf /var/lib/apt/lists/*
# The tests come along because cargo reads the manifest of every workspace member; only the benchmark is built.
COPY . .
# Downloads and compiled dependencies outlive the build. They are not part of the layer, so the executable is taken out
# in the same step. Locked, because compose may build the image for two services at once.
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/src/target,sharing=locked \
    make dist \
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
