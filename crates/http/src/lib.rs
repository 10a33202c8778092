//! The HTTP server of every role: connections, TLS, framing, header limits and health.
//!
//! A connection's way: `server` (accept, limit, time out) → `tls` → `strict` and `framing` (HTTP/1.1 only) → `protocol`
//! (hyper) → what answers, such as a router.
//!
//! **Architecture invariant:** nothing here knows a bucket, a key or a problem code. What is refused is returned as a
//! value; the crate that serves decides how to answer.

mod address_limit;
mod event_stream;
mod framing;
mod handler;
mod health;
pub mod limits;
mod listener;
mod protocol;
mod server;
mod strict;
mod tls;

pub use event_stream::event_stream;
pub use handler::AnyHandler;
pub use health::{Health, NotReady, RedisAccess};
pub use limits::ConnectionLimits;
pub use listener::Listener;
pub use server::{Answers, Peer, serve};
pub use tls::{Tls, TlsError, TlsIdentity};
