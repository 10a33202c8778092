//! An intake, as the operator's commands reach it.

mod connection_args;
mod events;
mod request_error;

pub(crate) use self::connection_args::ConnectionArgs;
pub(crate) use self::events::{EventStream, events};
pub(crate) use self::request_error::RequestError;
