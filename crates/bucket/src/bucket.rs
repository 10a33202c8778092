use std::sync::Arc;
use std::time::Duration;

use dripfeed_job::{BucketName, Ending, JobId, Rate, State, Submission};
use dripfeed_store::Store;

use crate::*;

/// A bounded queue in front of one upstream. Cheap to clone.
#[derive(Clone)]
pub struct Bucket {}

impl Bucket {
    pub fn new(store: Store, settings: BucketSettings) -> Self { todo!() }
    pub fn name(&self) -> &BucketName { todo!() }
    pub fn settings(&self) -> Arc<BucketSettings> { todo!() }
    /// Other settings from now on (SIGHUP); name, kind and key stay.
    pub fn reconfigure(&self, settings: BucketSettings) { todo!() }

    pub async fn admit(&self, submission: Submission) -> Result<Admission, BucketError> { todo!() }
    pub async fn admit_many(&self, submissions: Vec<Submission>) -> Vec<Result<Admission, BucketError>> { todo!() }
    pub async fn find(&self, id: JobId) -> Result<Option<JobView>, BucketError> { todo!() }
    pub async fn jobs(&self, state: Option<State>, after: Option<&Cursor>, limit: usize) -> Result<Page<JobView>, BucketError> { todo!() }
    pub async fn cancel(&self, id: JobId) -> Result<Cancel, BucketError> { todo!() }
    pub async fn census(&self) -> Result<Census, BucketError> { todo!() }
    pub async fn pause(&self) -> Result<(), BucketError> { todo!() }
    pub async fn resume(&self) -> Result<(), BucketError> { todo!() }
    /// Cancels all that waits or is parked; tells how many.
    pub async fn purge(&self) -> Result<u64, BucketError> { todo!() }
    pub async fn change(&self, changes: &Changes) -> Result<(), BucketError> { todo!() }
    pub async fn dead_letters(&self, filter: &DeadFilter, after: Option<&Cursor>, limit: usize) -> Result<Page<DeadLetter>, BucketError> { todo!() }
    pub async fn dead_letter(&self, id: JobId) -> Result<Option<DeadLetter>, BucketError> { todo!() }
    pub async fn replay(&self, id: JobId) -> Result<Replayed, BucketError> { todo!() }
    pub async fn replay_many(&self, filter: &DeadFilter, rate: Option<Rate>) -> Result<ReplayedMany, BucketError> { todo!() }
    pub async fn delete_dead(&self, id: JobId) -> Result<bool, BucketError> { todo!() }
    pub async fn outcomes(&self, since_ms: Option<u64>, ending: Option<Ending>, after: Option<&Cursor>, limit: usize) -> Result<Page<EndedJob>, BucketError> { todo!() }
    pub async fn report(&self, window: Duration) -> Result<Report, BucketError> { todo!() }
    /// None: it has not ended within the time.
    pub async fn await_outcome(&self, id: JobId, within: Duration) -> Result<Option<EndedJob>, BucketError> { todo!() }
    /// Becomes a member of the processors' group, with its lease (how long a silent replica is believed alive).
    pub async fn join(&self, consumer: Consumer, lease: Duration) -> Result<Replica, BucketError> { todo!() }
}
