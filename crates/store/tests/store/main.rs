//! The store over private real servers.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

/// Messages, and what rings for them.
mod bell;
/// A Redis of one test and a store on it.
mod bench;
/// What servers give, and what is reported when they give less.
mod durability;
/// The private server itself.
mod private_server;
/// Connections that are lost, and calls that fail in time.
mod renewing;
/// Scripts and their errors.
mod scripts;
/// Masters that Sentinel names.
mod sentinel;
/// TLS.
mod tls;
