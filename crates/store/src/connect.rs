//! Opens connections, with Sentinel, TLS and credentials.

mod connect_options;
pub(crate) mod connector;
pub(crate) mod highest_epoch;
pub(crate) mod latest_master;
mod sentinel;
