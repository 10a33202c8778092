//! The last day of a bucket: rings of slots in Redis, each of a fixed length, of what was counted, how full the bucket
//! was, and how long calls took.
//!
//! Processes `sample` a bucket from time to time. What it has counted is the difference of two samples, so nothing else
//! counts anything for this; what calls took is added by the replicas that make them (`call_stats`). The process that
//! comes first samples, so however many there are, nothing is counted twice and none must be elected.

pub(crate) mod call_stats;
pub(crate) mod latency_sketch;
pub(crate) mod list_history;
pub(crate) mod sample;
pub(crate) mod slot;
pub(crate) mod window;
