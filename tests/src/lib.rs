//! What the tests share: private servers, buckets of their own, real processes, and an upstream that writes down every
//! call.

pub mod buckets;
pub mod client;
pub mod processes;
pub mod proxy;
pub mod redis_server;
pub mod service;
pub mod torture;
pub mod upstream;
