//! The intake over a real Redis: its router in process, and its accept loop over real sockets.
#![expect(unreachable_pub, reason = "nobody is outside of a test")]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

/// Many jobs in one request.
mod batches;
/// Connections: limits, silence, the stop.
mod connections;
/// Many silent and slow connections at once.
mod crowds;
/// Dead letters, and their way back.
mod dead_letters;
/// The API's description, its browser, metrics and health.
mod describing;
/// What a failing Redis does to callers.
mod failing;
/// Requests whose end could be read in more than one way.
mod framing;
/// Who may do what.
mod keys;
/// Names of buckets that are none.
mod names;
/// Pause, resume, purge, cancel, changes at run time.
mod operating;
/// Options that can't be used, by each way that they can come.
mod options;
/// Pages of other origins, and methods that change nothing.
mod origins;
/// Requests handed in as they are.
mod proxying;
/// Jobs, lists, buckets, outcomes, reports.
mod reading;
/// An intake that listens, and a client that sends whatever it is given.
mod server;
/// Rules of services, and checks by them.
mod services;
/// The Redis, the buckets and the intake of one test.
mod stage;
/// One job in one request.
mod submitting;
/// The same over TLS, with certificates made here.
mod tls;
/// Waiting for the upstream's answer.
mod waiting;
