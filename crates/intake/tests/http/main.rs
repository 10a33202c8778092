//! The intake over a real Redis: its router in process, and its accept loop over real sockets.
#![expect(unreachable_pub, reason = "nobody is outside of a test")]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

/// Dead letters and replays.
mod dead_letters;
/// The API description, the API explorer, metrics and health.
mod describing;
/// Streams of events.
mod events;
/// Failures of Redis.
mod failing;
/// The Redis, the buckets and the intake of one test.
mod harness;
/// A bucket over a window.
mod history;
/// The caller's key, Redis, and what the doctor finds.
mod installation;
/// API keys and scopes.
mod keys;
/// Metrics of more buckets than a scrape shows in full.
mod many_buckets;
/// Liveness, readiness and metrics, as monitors ask for them.
mod monitors;
/// Invalid bucket names.
mod names;
/// Pause, resume, purge, cancel, changes at run time.
mod operating;
/// Cross-site requests, DNS rebinding, and safe methods.
mod origins;
/// The API description against what the intake accepts.
mod published;
/// Jobs, lists, buckets, outcomes, reports.
mod reading;
/// What scalers ask.
mod scale;
/// A listening intake, and a client that sends raw bytes.
mod server;
/// Rules of services, and rate-limit checks.
mod services;
/// Jobs come in.
mod submit;
