//! HTTP requests to one origin: to an upstream, to an intake, to a receiver of traces.
//!
//! **Architecture invariant:** nothing of a request outlives it for long. A pooled client goes on sending a request
//! that nobody awaits any more: a server that doesn't read it would keep its body and its connection.

mod http_client;
mod idle_time;
mod kept_connections;

pub use http_client::{Connection, Dial, HttpClient, RequestError};
pub use kept_connections::UsedConnection;
