//! Suspends a bucket created over the API, before its deletion.

use dripfeed_store::Script;
use redis::Value;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("suspend_bucket", SHARED, include_str!("suspend_bucket.lua"));

/// The last job of the bucket when it was suspended. A purge cancels jobs up to this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastJob(pub(crate) String);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SuspendResult {
    /// The bucket is suspended: no job is in the way.
    Done(LastJob),
    /// This number of jobs is in the way, and nothing was changed.
    Jobs(u64, LastJob),
    /// The definition was changed concurrently; read it again.
    Changed,
    /// A bucket of the same name was created later.
    Gone,
}

impl Bucket {
    /// Suspends the bucket: it neither admits jobs nor hands them out, until [`Bucket::open`] is called with a version
    /// after `version`. `is_purged`: waiting and parked jobs will be purged, so only jobs in flight are in the way.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; it may be done again.
    pub async fn suspend(&self, version: u64, is_purged: bool) -> Result<SuspendResult, BucketError> {
        let Some(incarnation) = self.incarnation() else { return Ok(SuspendResult::Gone) };
        let keys = &self.redis_bucket.keys;
        let mut call = SCRIPT.on(&[keys.jobs(), keys.control(), keys.takers(), keys.tally()]);
        call.arg(incarnation).arg(version).arg(if is_purged { "1" } else { "" });
        call.arg(format!("{:016x}", fastrand::u64(..)));
        let mut reply = Reply::new("suspend_bucket", self.redis_bucket.store.run_durably::<Value>(&call).await?)?;
        let (word, jobs, last) = (reply.text()?, reply.count()?, LastJob(reply.text()?));
        match word.as_str() {
            "suspended" => Ok(SuspendResult::Done(last)),
            "jobs" => Ok(SuspendResult::Jobs(jobs, last)),
            "changed" => Ok(SuspendResult::Changed),
            "gone" => Ok(SuspendResult::Gone),
            _ => Err(BucketError::Reply { script: "suspend_bucket", what: format!("unexpected reply `{word}`") }),
        }
    }
}
