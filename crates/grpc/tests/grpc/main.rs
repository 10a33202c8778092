//! gRPC over a real Redis and real connections, asked by real clients.
#![expect(unreachable_pub, reason = "nobody is outside of a test")]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

/// TLS, silence, the stop.
mod connections;
/// As Envoy asks.
mod envoy;
/// As the published clients call, and what our own fields add.
mod registering;
/// The Redis, the server and the clients of one test.
mod stage;
