//! The HTTP API as the operator's commands use it.

mod asking;
mod problem;
mod server;

pub(crate) use self::asking::Asking;
pub(crate) use self::problem::{Problem, RequestError};
pub(crate) use self::server::{Pages, Server};
