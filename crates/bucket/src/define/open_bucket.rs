//! Opens a bucket created over the API.

use dripfeed_store::Script;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("open_bucket", SHARED, include_str!("open_bucket.lua"));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenResult {
    Open,
    /// The bucket is suspended for the deletion of this definition or a later one.
    Suspended,
    /// The bucket was deleted.
    Closed,
    /// A bucket of the same name was created later.
    Gone,
}

impl Bucket {
    /// Deletes the data that an earlier bucket of this name has left, unless there are jobs, and opens the bucket for
    /// jobs. If it is open already, nothing changes. `version`: the version of its definition.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; it may be done again.
    pub async fn open(&self, version: u64) -> Result<OpenResult, BucketError> {
        let Some(incarnation) = self.incarnation() else { return Ok(OpenResult::Open) };
        let keys = &self.redis_bucket.keys;
        self.clear(incarnation, vec![keys.replicas(), keys.members()]).await?;
        let mut call = SCRIPT.on(&[keys.jobs(), keys.control(), keys.audit()]);
        call.arg(incarnation).arg(version).arg(format!("{:016x}", fastrand::u64(..)));
        let answer: String = self.redis_bucket.store.run_durably(&call).await?;
        match answer.as_str() {
            "open" => Ok(OpenResult::Open),
            "suspended" => Ok(OpenResult::Suspended),
            "closed" => Ok(OpenResult::Closed),
            "gone" => Ok(OpenResult::Gone),
            word => Err(BucketError::Reply { script: "open_bucket", what: format!("unexpected reply `{word}`") }),
        }
    }
}
