//! What concerns the whole installation: the caller's key, keys that are made at run time, and Redis.

pub(crate) mod key;
pub(crate) mod keys;
pub(crate) mod redis;
pub(crate) mod redis_servers;
