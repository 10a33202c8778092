//! The last day of a bucket as time series: rings of slots in Redis, each of a fixed length, with counts, level and
//! latencies.
//!
//! Processes `sample` a bucket periodically. Counts are the difference between two samples of existing counters, so no
//! other script counts for the history; latencies are added by the replicas that make the calls (`call_stats`).
//! Whichever process comes first samples, so any number of processes may sample, nothing is counted twice, and no
//! leader is needed.

pub(crate) mod call_stats;
pub(crate) mod latency_sketch;
pub(crate) mod list_history;
pub(crate) mod recent_calls;
pub(crate) mod recent_events;
pub(crate) mod sample;
pub(crate) mod slot;
pub(crate) mod window;
