//! An HTTP client for one origin: an upstream, an intake, or a receiver of traces.
//!
//! **Architecture invariant:** dropping a request closes its connection. A usual pooled client would continue to send
//! it, so a server that doesn't read it could keep its body in memory and its connection open.

mod connection_pool;
mod http_client;
mod response_limit;

pub use connection_pool::PooledConnection;
pub use http_client::{Connection, Dial, HttpClient, RequestError};
pub use response_limit::{MOST_BEFORE_BODY, ResponseTooLarge};
