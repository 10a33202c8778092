//! How long and how often is measured.

use std::time::Duration;

pub(crate) struct Volume {
    pub(crate) name: &'static str,
    /// Measurements of each side, in turns. The figure is their median.
    pub(crate) rounds: usize,
    /// Of closed load.
    pub(crate) window: Duration,
    /// In a bucket that is drained.
    pub(crate) jobs: u64,
    /// Of load at 100 jobs a second.
    pub(crate) slow_load: Duration,
    /// Of which the processor time of idle roles is measured.
    pub(crate) idle: Duration,
    /// Jobs in the full bucket of the row `large`.
    pub(crate) crowd: u64,
    /// Of calls at a rate.
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
