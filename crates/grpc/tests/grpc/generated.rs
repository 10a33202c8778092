use std::fs;
use std::path::Path;

struct Generated {
    proto: &'static str,
    /// Named by the compiler, after the package.
    written: &'static str,
    committed: &'static str,
    /// Whether clients in Rust come with it.
    client: bool,
}

const GENERATED: [Generated; 3] = [
    Generated {
        proto: "rate_limiter.proto",
        written: "proto.rs",
        committed: "src/generated/rate_limiter.rs",
        client: true,
    },
    Generated {
        proto: "rate_limit_service.proto",
        written: "envoy.service.ratelimit.v3.rs",
        committed: "src/generated/rate_limit_service.rs",
        client: false,
    },
    Generated {
        proto: "external_scaler.proto",
        written: "externalscaler.rs",
        committed: "src/generated/external_scaler.rs",
        client: true,
    },
];

/// The code is committed, so that a build needs no compiler of protos. UPDATE_GENERATED=1 writes it again.
#[test]
fn generated_code_matches_the_protos() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for Generated { proto, written, committed, client } in GENERATED {
        let folder = tempfile::tempdir().unwrap();
        let described = protox::compile([root.join("proto").join(proto)], [root.join("proto")]).unwrap();
        tonic_prost_build::configure()
            .build_transport(false)
            .build_client(client)
            .out_dir(folder.path())
            .compile_fds(described)
            .unwrap();
        let generated = fs::read_to_string(folder.path().join(written)).unwrap();
        let committed = root.join(committed);
        if std::env::var_os("UPDATE_GENERATED").is_some() {
            fs::write(&committed, &generated).unwrap();
        }
        let stands = fs::read_to_string(&committed).unwrap_or_default();
        assert!(
            stands == generated,
            "{} differs from {proto}: UPDATE_GENERATED=1 cargo test -p dripfeed-grpc generated_code",
            committed.display()
        );
    }
}
