//! Makes Rust of our `.proto`, without protoc.

use std::error::Error;

const PROTO: &str = "proto/rate_limiter.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={PROTO}");
    let described = protox::compile([PROTO], ["proto"])?;
    tonic_prost_build::configure().build_transport(false).compile_fds(described)?;
    Ok(())
}
