//! The receipt of an accepted job.

use std::time::Duration;

use dripfeed_job::{BucketName, JobId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// The receipt of an accepted job.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Receipt {
    pub id: JobId,
    pub bucket: BucketName,
    /// Jobs in the bucket, this one included.
    pub level: u64,
    /// The maximum level.
    pub capacity: u64,
    /// The durability class: `process`, `everysec`, `fsync` or `replicated`.
    pub durability: String,
    /// The estimated time until the job is delivered, in ms.
    pub eta_ms: u64,
    /// Members added by later versions of the intake.
    #[serde(flatten)]
    pub more: Map<String, Json>,
}

impl Receipt {
    /// Returns the estimated time until the job is delivered.
    #[must_use]
    pub const fn eta(&self) -> Duration {
        Duration::from_millis(self.eta_ms)
    }
}
