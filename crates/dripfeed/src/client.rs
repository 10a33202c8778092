//! The HTTP API as the operator's commands use it.

mod connection_args;
mod events;
mod problem;
mod server;
mod version;

pub(crate) use self::connection_args::ConnectionArgs;
pub(crate) use self::events::EventStream;
pub(crate) use self::problem::{Problem, RequestError};
pub(crate) use self::server::{Pages, Server, ServerResponse, escaped};
pub(crate) use self::version::{if_match, version};
