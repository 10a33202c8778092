//! Checks of a server: its version, its settings, and the permissions of the Redis user.

pub(crate) mod acl;
pub(crate) mod durability_check;
pub(crate) mod server_checks;
pub(crate) mod server_info;
pub(crate) mod slow_log;
pub(crate) mod write_access;
