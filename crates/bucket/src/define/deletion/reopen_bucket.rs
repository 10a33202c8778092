//! Opens a bucket again whose deletion was interrupted.

use std::time::Duration;

use dripfeed_job::duration::ms_up;
use dripfeed_store::Script;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("reopen_bucket", SHARED, include_str!("reopen_bucket.lua"));

/// A deletion is decided within this time of the suspension, or not at all.
pub const DECIDED_WITHIN: Duration = Duration::from_secs(20);
/// So much later that no decision can still be on its way to Redis.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reopened {
    Open,
    /// Its deletion isn't decided.
    Suspended,
    /// It is deleted, or will be.
    Gone,
}

impl Bucket {
    /// Where somebody has suspended it for its deletion a minute ago, and was stopped before that was decided: its jobs
    /// would wait for the next change of its definition.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; it may be done again.
    pub async fn reopen_abandoned(&self) -> Result<Reopened, BucketError> {
        let Some(incarnation) = self.incarnation() else { return Ok(Reopened::Gone) };
        let suspended = self.reopen(incarnation, "").await?;
        // Asked only now: of one that was suspended long ago it is decided by now, or never will be.
        if self.deletion_is_decided(incarnation).await? {
            return Ok(Reopened::Gone);
        }
        if suspended.is_empty() || self.reopen(incarnation, &suspended).await? != "open" {
            return Ok(Reopened::Suspended);
        }
        let bucket = self.name();
        tracing::warn!(%bucket, "undid an interrupted deletion; the bucket accepts jobs again");
        Ok(Reopened::Open)
    }

    async fn reopen(&self, incarnation: u64, suspended: &str) -> Result<String, BucketError> {
        let keys = &self.redis_bucket.keys;
        let mut call = SCRIPT.on(&[keys.jobs(), keys.control()]);
        call.arg(incarnation).arg(ms_up(ABANDONED_AFTER)).arg(suspended).arg(format!("{:016x}", fastrand::u64(..)));
        Ok(self.redis_bucket.store.run_durably(&call).await?)
    }
}
