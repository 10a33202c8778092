use std::time::Duration;

use dripfeed_job::Rate;

/// A bucket counted at one moment.
#[derive(Clone, Debug)]
pub struct Census {
    pub level: u64,
    pub capacity: u64,
    pub bytes: u64,
    pub capacity_bytes: u64,
    pub waiting: u64,
    pub in_flight: u64,
    pub parked: u64,
    pub dead: u64,
    /// Of the oldest job in the bucket; None when empty.
    pub oldest_age: Option<Duration>,
    pub accepted_per_s: f64,
    pub refused_per_s: f64,
    pub settled_per_s: f64,
    pub pace: Pace,
    pub paused: bool,
    pub replicas: Vec<ReplicaCensus>,
    /// The run-time settings in force, where they differ from the configured ones.
    pub changes: crate::Changes,
    /// Totals since the bucket began: jobs accepted, refused by reason code, ended by outcome.
    pub accepted: u64,
    pub refused: Vec<(&'static str, u64)>,
    pub ended: Vec<(dripfeed_job::Ending, u64)>,
    pub recovered: u64,
}

#[derive(Clone, Debug)]
pub struct Pace {
    /// None: no rate is set.
    pub target: Option<Rate>,
    pub effective_per_s: Option<f64>,
    /// Why effective is what it is: `target`, `held` (an upstream asked to wait), `paused`, `no_rate`.
    pub reason: &'static str,
    /// Until an upstream's wish to wait is over.
    pub held_for: Option<Duration>,
    /// Until the next token, where there is a rate; zero: there is one now.
    pub tokens: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaCensus {
    pub consumer: String,
    pub in_flight: u64,
}
