//! HTTP requests to one origin: to an upstream, to an intake, to a receiver of traces.
//!
//! **Architecture invariant:** nothing of a request outlives it for long. A pooled client goes on sending a request
//! that nobody awaits any more: a server that doesn't read it would keep its body and its connection.

mod answer_bound;
mod http_client;
mod kept_connections;

pub use answer_bound::{EndlessAnswer, MOST_BEFORE_BODY};
pub use http_client::{Connection, Dial, HttpClient, RequestError};
pub use kept_connections::UsedConnection;
