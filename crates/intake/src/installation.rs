//! What concerns the whole installation: the caller's key, and Redis.

pub(crate) mod key;
pub(crate) mod redis;
pub(crate) mod redis_servers;
