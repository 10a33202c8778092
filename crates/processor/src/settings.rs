//! The settings of a processor: plain data, parsed and validated by the executable.

use std::time::Duration;

#[derive(Clone, Debug)]
pub struct ProcessorSettings {
    /// The prefix of its replicas' names in Redis; by default host name and process id.
    pub name: Option<String>,
    /// A replica without a heartbeat for this long is dead.
    pub lease: Duration,
    /// After this long without a job in the bucket, a replica goes on standby.
    pub standby_after: Duration,
    /// Whether histograms have the label `bucket`.
    pub histograms_by_bucket: bool,
    /// How long running calls may take to end at a shutdown.
    pub drain: Duration,
}
