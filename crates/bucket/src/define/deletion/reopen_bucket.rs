//! Opens a bucket whose creation or deletion was interrupted.

use std::time::Duration;

use dripfeed_job::duration::ms_up;
use dripfeed_store::Script;

use crate::bucket::Bucket;
use crate::define::open_bucket::OpenResult;
use crate::error::BucketError;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("reopen_bucket", SHARED, include_str!("reopen_bucket.lua"));

/// A deletion is decided within this time of the suspension, or not at all.
pub const DECIDED_WITHIN: Duration = Duration::from_secs(20);
/// A suspension older than this is abandoned: no decision about it can still be on its way to Redis.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReopenResult {
    Open,
    /// The bucket is suspended, and its deletion isn't decided.
    Suspended,
    /// The bucket is deleted, or its deletion is decided.
    Gone,
}

impl Bucket {
    /// Opens the bucket if it was suspended a minute ago for a deletion that wasn't decided: otherwise its jobs would
    /// wait for the next change of its definition. Also opens it if it was defined, but not opened.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; it may be done again.
    pub async fn reopen_abandoned(&self) -> Result<ReopenResult, BucketError> {
        let Some(incarnation) = self.incarnation() else { return Ok(ReopenResult::Gone) };
        // No definition of the bucket has a version before its incarnation, so this doesn't undo a suspension.
        self.open_unless_deleted(incarnation).await
    }

    /// As [`Bucket::reopen_abandoned`], and opens a bucket that is suspended for the deletion of an earlier definition.
    /// `version`: the version of its definition.
    ///
    /// # Errors
    /// As [`Bucket::reopen_abandoned`].
    pub async fn open_unless_deleted(&self, version: u64) -> Result<ReopenResult, BucketError> {
        let Some(incarnation) = self.incarnation() else { return Ok(ReopenResult::Gone) };
        let suspended = self.reopen(incarnation, "").await?;
        // Checked after the suspension was read: if that is old, the deletion is decided by now, or never will be.
        if self.deletion_is_decided(incarnation).await? {
            return Ok(ReopenResult::Gone);
        }
        if suspended.is_empty() {
            return Ok(match self.open(version).await? {
                OpenResult::Open => ReopenResult::Open,
                OpenResult::Suspended => ReopenResult::Suspended,
                OpenResult::Closed | OpenResult::Gone => ReopenResult::Gone,
            });
        }
        if self.reopen(incarnation, &suspended).await? != "open" {
            return Ok(ReopenResult::Suspended);
        }
        let bucket = self.name();
        tracing::warn!(%bucket, "undid an interrupted deletion; the bucket accepts jobs again");
        Ok(ReopenResult::Open)
    }

    /// As [`Bucket::reopen_abandoned`], for callers that retry in any case: an error is only logged. Maybe no other
    /// process uses the bucket, and only the caller can open it.
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
