//! Checks of the server: its version and settings, the permissions of the Redis user, and problems.

pub(crate) mod acl;
pub(crate) mod durability_check;
pub(crate) mod server_checks;
pub(crate) mod server_info;
pub(crate) mod slow_log;
pub(crate) mod write_access;
