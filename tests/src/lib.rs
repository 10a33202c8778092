//! What the tests share: private servers, buckets of their own, and an upstream that writes down every call.

pub mod buckets;
pub mod redis_server;
