//! The settings of a processor: plain data, parsed and validated by the executable.

use std::time::Duration;

#[derive(Clone, Debug)]
pub struct ProcessorSettings {
    /// What its replicas' names in Redis begin with. None: host and process id.
    pub name: Option<String>,
    /// How long a silent replica is believed alive.
    pub lease: Duration,
    /// After so long without a job in the bucket a replica leaves its group, and joins again when one comes.
    pub standby_after: Duration,
    /// Whether histograms, too, say of which bucket they are.
    pub histograms_by_bucket: bool,
    /// At a stop: how long calls under way may take to end.
    pub drain: Duration,
}
