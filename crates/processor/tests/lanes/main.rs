//! Whole lanes: a real Redis, a real upstream on loopback, and a processor between them.
#![expect(unreachable_pub, reason = "nobody is outside of a test")]
#![expect(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails by panicking")]

/// A job that was changed in Redis.
mod corruption;
/// What a stop does to calls under way.
mod drain;
/// Redis gone, a replica declared dead.
mod faults;
/// The Redis, the buckets and the processor of one test.
mod harness;
/// The states of a job, one after the other.
mod lifecycle;
/// Jobs that come one after the other, to many processes.
mod lone_jobs;
/// Settings that change under running lanes.
mod reload;
/// Whether the wait that a refusal reports is honest.
mod retry_after;
/// Calls that an upstream can verify.
mod signing;
/// Buckets in which nothing is to be done.
mod standby;
/// An upstream that a test answers by hand.
mod upstream;
