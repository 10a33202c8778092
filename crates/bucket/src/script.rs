//! Shared by all scripts: key names, calls, replies, and common Lua.

pub(crate) mod acl;
pub(crate) mod batches;
pub(crate) mod constants;
#[cfg(feature = "planted-bugs")]
pub(crate) mod fault_injection;
pub(crate) mod key_types;
pub(crate) mod keys;
pub(crate) mod pace_constants;
mod packed;
#[cfg(any(test, feature = "planted-bugs"))]
mod planted_bugs;
pub(crate) mod redis_bucket;
pub(crate) mod reply;
pub(crate) mod scripts;
