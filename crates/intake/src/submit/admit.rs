//! Submits to the bucket, counts the result and builds the response.

use std::slice;
use std::sync::Arc;
use std::time::Instant;

use axum::response::Response;
use dripfeed_auth::{Caller, Turn, Waiter};
use dripfeed_bucket::{Admission, Admitted, Bucket, BucketError, Judgement, Origin, Refused};
use dripfeed_job::{BucketName, Submission};
use dripfeed_limit::Decision;

use crate::intake::Intake;
use crate::problem::Problem;
use crate::submit::ratelimit_fields::{add_of_caller, of_caller, of_judgement};
use crate::submit::receipt;
use crate::submit::span::SubmissionSpan;
use crate::submit::sync_wait::{self, SyncWait};

/// Submits to the bucket and responds. `sender`: the id of the key. `wait`: for the end of the job, and whose key may
/// see it then.
pub(crate) async fn admit(
    intake: &Intake,
    bucket: &Bucket,
    sender: Option<&str>,
    mut submission: Box<Submission>,
    origin: Arc<Origin>,
    wait: Option<(SyncWait, &Caller)>,
) -> Result<Response, Problem> {
    let begun = Instant::now();
    let caller = Waiter::new(submission.caller.as_deref(), origin.address);
    let wait = wait.map(|(wait, reader)| (wait, reader, caller.clone()));
    let span = SubmissionSpan::begin(intake, bucket, slice::from_mut(&mut *submission));
    let turn = intake.submissions().take_for_jobs(caller, 1, submission.body.len()).await;
    let (other, judged) = if turn.is_of_one() {
        let judged = judge_in_current(intake, bucket, submission, origin).await;
        drop(turn);
        judged
    } else {
        Box::pin(judge_large(turn, intake.clone(), bucket.clone(), submission, origin)).await?
    };
    let bucket = other.as_ref().unwrap_or(bucket);
    intake.metrics().admitted_in(bucket.name(), begun.elapsed(), span.trace());
    span.end(bucket.name(), &judged);
    let limits = judged.as_ref().map(|judged| of_caller(judged, intake.settings())).unwrap_or_default();
    count_refusal(intake, bucket.name(), sender, &judged);
    let admitted = judge(intake, bucket.name(), judged)?;
    let mut response = match wait {
        // Apart, as it is rare: so each submission takes less memory.
        Some((wait, reader, waiter)) => {
            Box::pin(sync_wait::answer(intake, bucket, &admitted, wait, reader, waiter)).await
        }
        None => receipt::answer(intake.settings(), bucket, &admitted),
    };
    add_of_caller(response.headers_mut(), limits);
    Ok(response)
}

/// Its turn lasts until Redis has it, even if its caller leaves: so no caller has more of them there than its turns.
async fn judge_large(
    turn: Turn,
    intake: Intake,
    bucket: Bucket,
    submission: Box<Submission>,
    origin: Arc<Origin>,
) -> Result<(Option<Bucket>, Result<Judgement, BucketError>), Problem> {
    Ok(turn.run(async move { judge_in_current(&intake, &bucket, submission, origin).await }).await?)
}

/// Submits to the current incarnation of a bucket: if it was deleted and created again a moment ago, the new one
/// decides, whichever this intake knew when the request arrived. And the bucket that has decided, where it is another
/// one.
async fn judge_in_current(
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

/// As [`judge_in_current`], in order.
pub(super) async fn judge_many_in_current(
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

/// Who was refused by what. Without keys nobody is known.
pub(crate) fn count_refusal(
    intake: &Intake,
    bucket: &BucketName,
    caller: Option<&str>,
    judged: &Result<Judgement, BucketError>,
) {
    if let (Some(caller), Ok(judged)) = (caller, judged) {
        intake.metrics().refused_caller(bucket, caller, judged);
    }
}

/// The bucket's decision as a result, counted.
pub(crate) fn judge(
    intake: &Intake,
    bucket: &BucketName,
    judged: Result<Judgement, BucketError>,
) -> Result<Admitted, Problem> {
    let admitted = judge_one_of_many(intake, bucket, judged)?;
    intake.metrics().accepted(bucket, u64::from(!admitted.repeated));
    Ok(admitted)
}

/// The same, without counting a job that was accepted.
pub(super) fn judge_one_of_many(
    intake: &Intake,
    bucket: &BucketName,
    judged: Result<Judgement, BucketError>,
) -> Result<Admitted, Problem> {
    if let Ok(judged) = &judged {
        intake.metrics().limited(bucket, judged);
    }
    let judged = judged.map_err(Problem::from).and_then(|judged| match judged.admission {
        Admission::Admitted(admitted) => Ok(admitted),
        Admission::Refused(ref refused) => {
            Err(refusal(&judged, refused).with(of_judgement(&judged, intake.settings())))
        }
    });
    counted(intake, bucket, judged)
}

fn refusal(judged: &Judgement, refused: &Refused) -> Problem {
    let problem = Problem::refused(refused);
    let violated = judged.violated();
    if violated.is_empty() {
        return problem;
    }
    let message = judged.limits.as_ref().and_then(Decision::message);
    problem.violating(violated.into_iter().map(str::to_owned).collect(), message)
}

/// Counts a refusal.
pub(crate) fn counted<T>(intake: &Intake, bucket: &BucketName, judged: Result<T, Problem>) -> Result<T, Problem> {
    judged.inspect_err(|problem| intake.metrics().refused(bucket, problem.code()))
}
