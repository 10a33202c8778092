//! Submits to the bucket, counts the result and builds the response.

use std::sync::Arc;
use std::time::Instant;
use std::{mem, slice};

use axum::response::Response;
use dripfeed_auth::{Caller, Turn, Waiter};
use dripfeed_bucket::{Admission, Admitted, Bucket, BucketError, Judgement, Judging, Origin, Refused};
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
    let submitted = Submitted { intake, bucket, sender, begun, span, turn: Some(turn), judging: None };
    let (other, judged, span) = submitted.judge_in_current(submission, origin).await;
    let bucket = other.as_ref().unwrap_or(bucket);
    note(intake, bucket.name(), sender, (begun, span), &judged);
    let limits = judged.as_ref().map(|judged| of_caller(judged, intake.settings())).unwrap_or_default();
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

/// A submission until it is decided on. Its caller may leave before that, which ends the request: Redis may have the
/// job all the same. So its turn lasts until then, and it is noted as any other.
struct Submitted<'s> {
    intake: &'s Intake,
    bucket: &'s Bucket,
    sender: Option<&'s str>,
    begun: Instant,
    span: SubmissionSpan,
    turn: Option<Turn>,
    /// None: Redis wasn't asked yet, or has answered.
    judging: Option<Judging>,
}

impl Submitted<'_> {
    /// Submits to the current incarnation of a bucket: if it was deleted and created again a moment ago, the new one
    /// decides, whichever this intake knew when the request arrived. And the bucket that has decided, where it is
    /// another one.
    async fn judge_in_current(
        mut self,
        submission: Box<Submission>,
        origin: Arc<Origin>,
    ) -> (Option<Bucket>, Result<Judgement, BucketError>, SubmissionSpan) {
        let (intake, bucket) = (self.intake, self.bucket);
        let again = bucket.incarnation().map(|_| (submission.clone(), Arc::clone(&origin)));
        let judged = match bucket.submit(submission, origin).await {
            Ok(judging) => self.judging.insert(judging).await.unwrap_or(Err(BucketError::Closing)),
            Err(error) => Err(error),
        };
        self.judging = None;
        let (other, judged) = match again {
            None => (None, judged),
            Some((submission, origin)) => {
                let again = |bucket: Bucket| async move { bucket.judge(submission, origin).await };
                intake.or_current(bucket, judged, again).await
            }
        };
        (other, judged, mem::take(&mut self.span))
    }
}

impl Drop for Submitted<'_> {
    fn drop(&mut self) {
        let Some(judging) = self.judging.take() else { return };
        let (span, turn) = (mem::take(&mut self.span), self.turn.take());
        let (intake, bucket, begun) = (self.intake.clone(), self.bucket.clone(), self.begun);
        let sender = self.sender.map(str::to_owned);
        tokio::spawn(async move {
            // It isn't while the process ends.
            let Ok(judged) = judging.await else { return };
            drop(turn);
            note(&intake, bucket.name(), sender.as_deref(), (begun, span), &judged);
            drop(judge(&intake, bucket.name(), judged));
        });
    }
}

/// What was decided, and how long it took.
fn note(
    intake: &Intake,
    bucket: &BucketName,
    sender: Option<&str>,
    (begun, span): (Instant, SubmissionSpan),
    judged: &Result<Judgement, BucketError>,
) {
    intake.metrics().admitted_in(bucket, begun.elapsed(), span.trace());
    span.end(bucket, judged);
    count_refusal(intake, bucket, sender, judged);
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
