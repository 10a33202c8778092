//! The gRPC API: rules of services and rate-limit checks, with the messages of a published rate limiter and of Envoy's
//! rate limit service; and KEDA's external scaler.
//!
//! It uses the same registry, buckets, keys and scopes as the HTTP API.
//!
//! **Architecture invariant:** the limit crate makes all decisions; nothing here talks to Redis.

mod access;
mod answer;
mod descriptor;
mod envoy;
mod messages;
mod refusal;
mod router;
mod rules;
mod scaler;
mod service;

/// The messages of `proto/rate_limiter.proto`.
#[rustfmt::skip]
#[path = "generated/rate_limiter.rs"]
#[expect(unused_qualifications, clippy::missing_errors_doc, reason = "generated code")]
pub mod proto;

/// The messages of `proto/rate_limit_service.proto`.
#[rustfmt::skip]
#[path = "generated/rate_limit_service.rs"]
#[expect(unreachable_pub, unused_qualifications, reason = "generated code")]
mod rate_limit_service;

/// The messages of `proto/external_scaler.proto`.
#[rustfmt::skip]
#[path = "generated/external_scaler.rs"]
#[expect(unused_qualifications, clippy::missing_errors_doc, reason = "generated code")]
pub mod external_scaler;

pub use router::{GrpcSettings, router};
pub use scaler::known_buckets::NewBuckets;
