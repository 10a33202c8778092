//! Opens a bucket whose definition, or deletion, was interrupted.

use std::time::Duration;

use dripfeed_job::duration::ms_up;
use dripfeed_store::Script;

use crate::bucket::Bucket;
use crate::define::open_bucket::Opened;
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
    /// would wait for the next change of its definition. Or has defined it, and was stopped before it was open.
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
        if suspended.is_empty() {
            // No definition of it has an earlier version.
            return Ok(match self.open(incarnation).await? {
                Opened::Open => Reopened::Open,
                Opened::Suspended => Reopened::Suspended,
                Opened::Closed | Opened::Gone => Reopened::Gone,
            });
        }
        if self.reopen(incarnation, &suspended).await? != "open" {
            return Ok(Reopened::Suspended);
        }
        let bucket = self.name();
        tracing::warn!(%bucket, "undid an interrupted deletion; the bucket accepts jobs again");
        Ok(Reopened::Open)
    }

    /// As [`Bucket::reopen_abandoned`], for who tries again in any case: maybe nobody else uses the bucket, so that
    /// nobody else would open it.
    pub async fn reopen_or_log(&self) {
        if let Err(error) = self.reopen_abandoned().await {
            let (bucket, error) = (self.name(), &error as &dyn std::error::Error);
            tracing::debug!(%bucket, error, "could not check whether the bucket is being deleted");
        }
    }

    async fn reopen(&self, incarnation: u64, suspended: &str) -> Result<String, BucketError> {
        let keys = &self.redis_bucket.keys;
        let mut call = SCRIPT.on(&[keys.jobs(), keys.control()]);
        call.arg(incarnation).arg(ms_up(ABANDONED_AFTER)).arg(suspended).arg(format!("{:016x}", fastrand::u64(..)));
        Ok(self.redis_bucket.store.run_durably(&call).await?)
    }
}
