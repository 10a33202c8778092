//! gRPC over a real Redis and real connections, asked by real clients.
#![expect(unreachable_pub, reason = "nobody is outside of a test")]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

/// TLS, timeouts, shutdown.
mod connections;
/// Envoy's rate limit service.
mod envoy;
/// The generated code of the protos.
mod generated;
/// The Redis, the server and the clients of one test.
mod harness;
/// Triggers of KEDA.
mod keda;
/// Callers that leave before they are answered.
mod leaving;
/// Messages that don't end, and their memory.
mod messages;
/// Published clients, and our own fields.
mod registering;
/// Keys created over the API.
mod run_time_keys;
