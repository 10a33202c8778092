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
    let Some((submission, origin)) = again else { return (None, judged) };
    let again = |bucket: Bucket| async move { bucket.judge(submission, origin).await };
    intake.or_current(bucket, judged, again).await
}

/// As [`judge`], in order.
pub(super) async fn judge_many(
    intake: &Intake,
    bucket: &Bucket,
    submissions: Vec<Submission>,
    origin: Origin,
) -> Vec<Result<Judgement, BucketError>> {
    let (count, origin) = (submissions.len(), Arc::new(origin));
    let again = bucket.incarnation().map(|_| (submissions.clone(), Arc::clone(&origin)));
    let judged = bucket.judge_many(submissions, origin).await;
    let Some((submissions, origin)) = again else { return judged };
    let all_gone = !judged.is_empty() && judged.iter().all(|judged| matches!(judged, Err(BucketError::Gone)));
    let judged = if all_gone { Err(BucketError::Gone) } else { Ok(judged) };
    let again = |bucket: Bucket| async move { Ok(bucket.judge_many(submissions, origin).await) };
    let (_, judged) = intake.or_current(bucket, judged, again).await;
    judged.unwrap_or_else(|error| vec![Err(error); count])
}
