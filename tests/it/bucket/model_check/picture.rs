//! The visible state of a bucket at one moment. Those of the model and of the real bucket must be equal.

use std::collections::BTreeMap;

use dripfeed_job::{Ending, JobState};

use super::step::JobNumber;

#[derive(Debug, PartialEq, Eq)]
pub struct Picture {
    pub level: u64,
    pub capacity: u64,
    /// In percent.
    pub max_share: Option<u64>,
    /// Jobs in the bucket by caller.
    pub holders: BTreeMap<String, u64>,
    pub bytes: u64,
    pub waiting: u64,
    pub in_flight: u64,
    pub parked: u64,
    pub dead: u64,
    pub paused: bool,
    pub accepted: u64,
    pub recovered: u64,
    /// Refusals by reason, in the order of `RefusalReason::ALL`.
    pub refused: Vec<u64>,
    /// Ended jobs by ending, in the order of `Ending::ALL`.
    pub ended: Vec<u64>,
    pub replicas: BTreeMap<String, u64>,
    pub jobs: BTreeMap<JobNumber, Seen>,
    /// How each job ended, and its attempts: one record per job.
    pub outcomes: Vec<(JobNumber, Ending, u32)>,
    /// Oldest first.
    pub letters: Vec<JobNumber>,
}

/// A job in the bucket.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    pub state: JobState,
    pub attempts: u32,
    pub consumer: Option<String>,
}

pub fn consumer(replica: usize) -> String {
    format!("replica-{replica}")
}
