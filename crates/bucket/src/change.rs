//! Settings changed at run time, kept in Redis, in force at once on all replicas.

use dripfeed_job::Rate;

/// None leaves a setting as it is; `Some(None)` goes back to the configured one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub capacity: Option<Option<u64>>,
    pub capacity_bytes: Option<Option<u64>>,
    pub leak: LeakChanges,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeakChanges {
    pub rate: Option<Option<Rate>>,
    pub burst: Option<Option<u64>>,
    pub concurrency: Option<Option<u32>>,
    pub max_in_flight: Option<Option<u64>>,
}
