//! A processor's membership in a bucket.

use std::fmt;
use std::time::Duration;

use dripfeed_job::JobId;

use crate::{BucketError, Bucket, Claim, Idle, Recovery, Settled, Settlement, Take};

/// A replica's name in the group, unique per process and life.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Consumer(String);

impl Consumer {
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One life of a replica in a bucket's group. Cheap to clone; all clones are one member.
#[derive(Clone)]
pub struct Replica {}

impl Replica {
    /// Up to `most` jobs that may be called now.
    pub async fn take(&self, most: usize) -> Result<Take, BucketError> { todo!() }

    /// Until it may be worth taking again. May be dropped at any time.
    pub async fn wait(&self, idle: &Idle) { todo!() }

    /// Ends an attempt. Settlements that are asked for meanwhile go together.
    pub async fn settle(&self, claim: Claim, settlement: Settlement) -> Result<Settled, BucketError> { todo!() }

    /// Shows that this replica lives, looks at the others, and takes back what dead ones held. To be called every third of a lease.
    pub async fn beat(&self) -> Result<Recovery, BucketError> { todo!() }

    /// Leaves the group; what is still held is due at once for the others, without counting an attempt.
    pub async fn leave(&self) -> Result<(), BucketError> { todo!() }

    /// Calls under way at once that this replica may have now (run-time changes included).
    pub fn concurrency(&self) -> u32 { todo!() }

    pub fn consumer(&self) -> &Consumer { todo!() }
    pub fn bucket(&self) -> &Bucket { todo!() }
}
