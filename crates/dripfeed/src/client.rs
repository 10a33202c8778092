//! The client that commands use to call an intake.

mod connection_args;
mod events;
mod request_error;
mod version;

pub(crate) use self::connection_args::{ConnectionArgs, ca_file, read_certificates};
pub(crate) use self::events::{EventStream, events};
pub(crate) use self::request_error::RequestError;
pub(crate) use self::version::{CreateArgs, if_match, version};
