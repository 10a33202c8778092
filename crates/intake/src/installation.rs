//! Operations on the installation: the caller's key, keys created over the API, and Redis.

pub(crate) mod key;
pub(crate) mod keys;
pub(crate) mod redis;
pub(crate) mod redis_servers;
