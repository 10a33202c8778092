//! The test harness: private Redis servers and faulty proxies in front of them, separate buckets, real processes, and
//! an upstream that records every call.

pub mod accept;
pub mod buckets;
pub mod callers;
pub mod client;
pub mod cluster;
pub mod lifecycles;
#[cfg(test)]
mod lua;
pub mod machine;
pub mod processes;
pub mod proxy;
pub mod redis_fault_proxy;
pub mod redis_server;
pub(crate) mod scripts;
pub mod sentinels;
pub mod service;
pub mod sources;
pub mod torture;
pub mod upstream;
pub mod wall_clock;
