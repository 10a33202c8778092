//! The recorded outcome of one job.

use dripfeed_job::outcome::failed_attempt::FailedAttempt;
use dripfeed_job::{JobId, Outcome};

use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedJob {
    pub id: JobId,
    pub outcome: Outcome,
    /// Its latest failed attempts.
    pub failed: Vec<FailedAttempt>,
    /// Ms since the epoch.
    pub settled_ms: u64,
}

impl RedisBucket {
    /// Returns `None` if the job hasn't ended, or its outcome isn't retained any longer.
    pub(crate) async fn outcome(&self, id: JobId) -> Result<Option<EndedJob>, BucketError> {
        let mut get = redis::cmd("HGET");
        get.arg(self.keys.outcomes()).arg(id.to_string());
        let record: Option<Vec<u8>> = self.store.command(&get).await?;
        Ok(record.and_then(|record| parse(id, &record)))
    }
}

/// Parses what record.lua writes: `ms record`, then a line for each failed attempt. Replaces invalid UTF-8, which texts
/// of jobs of a plain XADD may have.
pub(crate) fn parse(id: JobId, text: &[u8]) -> Option<EndedJob> {
    let text = String::from_utf8_lossy(text);
    let (ms, record) = text.split_once(' ')?;
    let (record, failed) = record.split_once('\n').unwrap_or((record, ""));
    let (outcome, failed) = (Outcome::from_record(record)?, FailedAttempt::read_all(failed));
    Some(EndedJob { id, outcome, failed, settled_ms: ms.parse().ok()? })
}
