//! Cancels a waiting or parked job.

use std::time::Duration;

use dripfeed_job::{Ending, JobId, JobState};
use tokio::time::sleep;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::kind::list::ListScan;
use crate::script::redis_bucket::{RedisBucket, WaitFor};
use crate::script::scripts::Scripts;

static SCRIPTS: Scripts = Scripts::of_kinds(
    "cancel",
    include_str!("../kind/stream/remove/cancel.lua"),
    include_str!("../kind/list/remove/cancel.lua"),
);

/// The maximum number of attempts, for a job that replicas take and put back meanwhile.
const TRIES: u32 = 20;
/// The pause after the first attempt. Each further pause is longer by this.
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

/// The result of cancelling a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelResult {
    Cancelled,
    /// A replica has claimed the job.
    InFlight,
    /// The job has already ended.
    Ended(Ending),
    Unknown,
}

impl Bucket {
    /// Cancels a job that isn't in flight. A list bucket is scanned for it.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; when its end goes to another bucket and the
    /// outbox is full.
    pub async fn cancel(&self, id: JobId) -> Result<CancelResult, BucketError> {
        for tried in 1..=TRIES {
            if self.redis_bucket.cancel_where_it_waits(id).await? {
                return Ok(CancelResult::Cancelled);
            }
            match self.find(id).await?.map(|job| job.state) {
                None => return Ok(CancelResult::Unknown),
                Some(JobState::InFlight) => return Ok(CancelResult::InFlight),
                Some(JobState::Ended(ending)) => return Ok(CancelResult::Ended(ending)),
                // The job was put back between the attempt and the search.
                Some(JobState::Waiting | JobState::Parked) => sleep(BETWEEN_TRIES * tried).await,
            }
        }
        // At each attempt a replica had the job.
        Ok(CancelResult::InFlight)
    }
}

impl RedisBucket {
    /// Cancels the job if it waits or is parked. Returns whether it did.
    async fn cancel_where_it_waits(&self, id: JobId) -> Result<bool, BucketError> {
        let (settings, keys) = (self.settings(), &self.keys);
        let mut scan = ListScan::of_jobs(keys);
        while let Some(at) = scan.at() {
            let mut call = SCRIPTS.of(self.kind).on(&keys.to_cancel(&settings.on_outcome));
            call.arg(id.to_string()).arg(settings.packed_ends()).arg(at);
            let (_, mut reply) = self.read("cancel", &call, WaitFor::Durability).await?;
            match reply.text()?.as_str() {
                "cancelled" => return Ok(true),
                "outbox_full" => return Err(BucketError::OutboxFull),
                _ => {}
            }
            scan.advance(&mut reply)?;
        }
        Ok(false)
    }
}
