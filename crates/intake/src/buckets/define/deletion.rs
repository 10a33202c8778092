//! Completes a deletion that was begun. If a process stops before its end, the next change of the bucket completes it.

use dripfeed_auth::Caller;
use dripfeed_bucket::{Bucket, BucketError, CloseResult, Definition, LastJob, SuspendResult};
use dripfeed_job::pluralize;

use crate::buckets::audit::record_parts;
use crate::intake::Intake;
use crate::problem::{Code, Problem};

/// Purges and closes the bucket, and removes its definition. `last`: the result of [`Bucket::suspend`].
pub(super) async fn end(
    intake: &Intake,
    bucket: &Bucket,
    caller: &Caller,
    definition: &Definition,
    last: LastJob,
) -> Result<(), Problem> {
    purge(intake, bucket, caller, last).await?;
    match bucket.close().await? {
        CloseResult::Done => drop(definition.delete(intake.redis().store()).await?),
        CloseResult::Jobs(jobs) => return Err(not_empty(jobs, false)),
        // Another request has completed the deletion.
        CloseResult::Gone => {}
    }
    Ok(())
}

/// Like [`end`], for a deletion that another caller has begun.
pub(super) async fn end_begun(
    intake: &Intake,
    bucket: &Bucket,
    caller: &Caller,
    definition: &Definition,
) -> Result<(), Problem> {
    match bucket.suspend(definition.version, true).await? {
        SuspendResult::Done(last) => end(intake, bucket, caller, definition, last).await,
        SuspendResult::Jobs(jobs, _) => Err(not_empty(jobs, true)),
        SuspendResult::Changed | SuspendResult::Gone => Ok(()),
    }
}

/// Cancels all jobs, counts them, and records that, because they stay cancelled even if the bucket isn't deleted.
pub(super) async fn purge(intake: &Intake, bucket: &Bucket, caller: &Caller, last: LastJob) -> Result<(), Problem> {
    let purged = bucket.purge_until(last).await;
    if !matches!(purged, Ok(0)) {
        record_parts(bucket, caller, "purge", &purged, |purged| *purged, "job", None).await;
    }
    intake.metrics().cancelled(bucket.name(), purged.as_ref().map_or_else(BucketError::done, |all| *all));
    purged?;
    Ok(())
}

pub(super) fn not_empty(jobs: u64, was_purged: bool) -> Problem {
    let what_to_do = if was_purged { "they are in flight; retry later" } else { "drain it, or add ?purge=true" };
    Problem::new(Code::BucketNotEmpty, format!("the bucket has {}: {what_to_do}", pluralize(jobs, "job")))
}
