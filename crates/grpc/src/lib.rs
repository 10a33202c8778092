//! gRPC in: rules of services and checks by them, as a published rate limiter takes them, and as Envoy asks.
//!
//! The calls are those of the HTTP API in another form: the same registry, the same keys and scopes.
//!
//! **Architecture invariant:** what is decided here is decided by the limit crate; nothing here talks to Redis.

mod access;
mod answer;
mod descriptor;
mod envoy;
mod refusal;
mod router;
mod rules;
mod service;

/// The messages of our `.proto`.
pub mod proto {
    #![expect(unused_qualifications, reason = "the compiler of protos writes them")]
    tonic::include_proto!("proto");
}

pub use router::{GrpcSettings, router};
