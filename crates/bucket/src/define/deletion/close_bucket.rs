//! Closes a bucket created over the API.

use std::time::Duration;

use dripfeed_job::duration::ms_up;
use dripfeed_store::Script;
use redis::Value;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("close_bucket", SHARED, include_str!("close_bucket.lua"));

/// How long a closed bucket is remembered: as long as the registry keeps deleted names.
const REMEMBERED: Duration = Duration::from_hours(24);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseResult {
    Done,
    /// The bucket still has this number of jobs, and is unchanged.
    Jobs(u64),
    /// A bucket of the same name was created later.
    Gone,
}

impl Bucket {
    /// Closes a bucket without jobs: no process admits jobs from now on, and its data and schedules are deleted. Its
    /// audit log is kept for a day. A deletion suspends the bucket first.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; it may be done again.
    pub async fn close(&self) -> Result<CloseResult, BucketError> {
        let Some(incarnation) = self.incarnation() else { return Ok(CloseResult::Gone) };
        let keys = &self.redis_bucket.keys;
        let replicas = [keys.replicas(), keys.members()];
        let mut call =
            SCRIPT.on(&[[keys.jobs(), keys.control(), keys.audit(), keys.takers()].as_slice(), &replicas].concat());
        call.arg(incarnation).arg(format!("{:016x}", fastrand::u64(..))).arg(ms_up(REMEMBERED));
        let mut reply = Reply::new("close_bucket", self.redis_bucket.store.run_durably::<Value>(&call).await?)?;
        let word = reply.text()?;
        match word.as_str() {
            "closed" => {
                self.clear(incarnation, Vec::new()).await?;
                self.forget_schedules().await?;
                Ok(CloseResult::Done)
            }
            "jobs" => Ok(CloseResult::Jobs(reply.count()?)),
            "gone" => Ok(CloseResult::Gone),
            _ => Err(BucketError::Reply { script: "close_bucket", what: format!("unexpected reply `{word}`") }),
        }
    }
}
