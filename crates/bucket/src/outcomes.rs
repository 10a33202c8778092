//! How jobs ended.

use dripfeed_job::{Ending, JobId, Outcome};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedJob {
    pub id: JobId,
    pub outcome: Outcome,
    pub settled_ms: u64,
}

/// The jobs that ended within a window, and how long they took from admission to their end.
#[derive(Clone, Debug)]
pub struct Report {
    pub from_ms: u64,
    pub to_ms: u64,
    pub ended: Vec<(Ending, u64)>,
    /// Attempts that the ended jobs took, in all.
    pub attempts: u64,
    pub latency_ms: Option<Latency>,
}

/// Percentiles in ms over the jobs that were delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    pub p50: u64,
    pub p95: u64,
    pub p99: u64,
    pub max: u64,
}
