//! The HTTP server of every role: connections, TLS, framing, header limits and health.
//!
//! The path of a connection: `server` (accept, limit) → `tls` → `checked_connection` and `framing` (HTTP/1.1 only) →
//! `protocol` (hyper) → the service, such as a router.
//!
//! **Architecture invariant:** this crate doesn't know buckets, keys or problem codes. Refusals are returned as values;
//! the crate that serves decides how to respond.

mod address_limit;
mod checked_connection;
mod event_stream;
mod framing;
mod handler;
mod health;
pub mod limits;
mod listener;
mod protocol;
mod server;
mod tls;

pub use event_stream::event_stream;
pub use handler::AnyHandler;
pub use health::{Health, NotReady, RedisAccess};
pub use limits::ConnectionLimits;
pub use listener::Listener;
pub use server::{HttpService, Peer, serve};
pub use tls::{Tls, TlsError, TlsIdentity};
