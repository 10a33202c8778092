//! An HTTP client for one origin: an upstream, an intake, or a receiver of traces.
//!
//! **Architecture invariant:** dropping a request closes its connection. A usual pooled client would continue to send
//! it, so a server that doesn't read it could keep its body in memory and its connection open.

mod answer_bound;
mod http_client;
mod kept_connections;

pub use answer_bound::{EndlessAnswer, MOST_BEFORE_BODY};
pub use http_client::{Connection, Dial, HttpClient, RequestError};
pub use kept_connections::UsedConnection;
