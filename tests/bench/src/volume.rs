//! The lengths and repetitions of measurements.

use std::time::Duration;

pub(crate) struct Volume {
    pub(crate) name: &'static str,
    /// Number of measurements of each side, alternately. A figure is their median.
    pub(crate) rounds: usize,
    /// Time of closed-loop load.
    pub(crate) window: Duration,
    /// Number of jobs in a bucket that is drained.
    pub(crate) jobs: u64,
    /// Time of the load of 100 jobs a second.
    pub(crate) slow_load: Duration,
    /// Time in which the CPU time of idle roles is measured.
    pub(crate) idle: Duration,
    /// Number of jobs in the large bucket of the row `large`.
    pub(crate) crowd: u64,
    /// Time of calls with a rate limit.
    pub(crate) paced: Duration,
}

pub(crate) static FULL: Volume = Volume {
    name: "full",
    rounds: 3,
    window: Duration::from_secs(5),
    jobs: 50_000,
    slow_load: Duration::from_secs(10),
    idle: Duration::from_secs(5),
    crowd: 1_000_000,
    paced: Duration::from_secs(60),
};

pub(crate) static QUICK: Volume = Volume {
    name: "quick",
    rounds: 2,
    window: Duration::from_secs(1),
    jobs: 20_000,
    slow_load: Duration::from_secs(3),
    idle: Duration::from_secs(2),
    crowd: 100_000,
    paced: Duration::from_secs(10),
};
