//! Submits to the current incarnation of a bucket: if it was deleted and created again a moment ago, the new one
//! decides, whichever this intake knew when the request arrived.

use std::sync::Arc;

use dripfeed_bucket::{Bucket, BucketError, Judgement, Origin};
use dripfeed_job::Submission;

use crate::intake::Intake;

/// And the bucket that has decided, where it is another one.
pub(super) async fn judge(
    intake: &Intake,
    bucket: &Bucket,
    submission: Box<Submission>,
    origin: Arc<Origin>,
) -> (Option<Bucket>, Result<Judgement, BucketError>) {
    let again = bucket.incarnation().map(|_| (submission.clone(), Arc::clone(&origin)));
    let judged = bucket.judge(submission, origin).await;
    match (&judged, again) {
        // Apart, as it is rare: so each submission takes less memory.
        (Err(BucketError::Gone), Some((submission, origin))) => match Box::pin(intake.reopened(bucket)).await {
            Ok(Some(bucket)) => {
                let judged = Box::pin(bucket.judge(submission, origin)).await;
                (Some(bucket), judged)
            }
            Ok(None) => (None, judged),
            Err(error) => (None, Err(error)),
        },
        _ => (None, judged),
    }
}

/// As [`judge`], in order.
pub(super) async fn judge_many(
    intake: &Intake,
    bucket: &Bucket,
    submissions: Vec<Submission>,
    origin: Origin,
) -> Vec<Result<Judgement, BucketError>> {
    let origin = Arc::new(origin);
    let again = bucket.incarnation().map(|_| (submissions.clone(), Arc::clone(&origin)));
    let judged = bucket.judge_many(submissions, origin).await;
    let all_gone = !judged.is_empty() && judged.iter().all(|judged| matches!(judged, Err(BucketError::Gone)));
    match again.filter(|_| all_gone) {
        Some((submissions, origin)) => match intake.reopened(bucket).await {
            Ok(Some(bucket)) => bucket.judge_many(submissions, origin).await,
            Ok(None) => judged,
            Err(error) => judged.into_iter().map(|_| Err(error.clone())).collect(),
        },
        None => judged,
    }
}
