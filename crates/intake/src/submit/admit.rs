//! Submits a job to its bucket, records the decision in metrics, trace and log, and builds the response.

use std::sync::Arc;
use std::time::Instant;
use std::{mem, slice};

use axum::response::Response;
use dripfeed_auth::{Caller, LimitedCaller, Turn};
use dripfeed_bucket::{Admission, AdmissionDecision, Admitted, Bucket, BucketError, Origin, PendingAdmission, Refused};
use dripfeed_job::{BucketName, Submission};
use dripfeed_limit::Decision;

use crate::intake::Intake;
use crate::problem::Problem;
use crate::submit::ratelimit_fields::{add_caller_fields, all_fields, caller_fields};
use crate::submit::receipt;
use crate::submit::span::SubmissionSpan;
use crate::submit::sync_wait::{self, SyncWait};

/// Submits a job to the bucket and responds. `sender`: the id of the API key. `wait`: how long to wait for the end of
/// the job, and the caller that must still be allowed to see it then.
pub(crate) async fn admit(
    intake: &Intake,
    bucket: &Bucket,
    sender: Option<&str>,
    mut submission: Box<Submission>,
    origin: Arc<Origin>,
    wait: Option<(SyncWait, &Caller)>,
) -> Result<Response, Problem> {
    let begun = Instant::now();
    let caller = LimitedCaller::new(submission.caller.as_deref(), origin.address);
    let wait = wait.map(|(wait, reader)| (wait, reader, caller.clone()));
    let span = SubmissionSpan::begin(intake, bucket, slice::from_mut(&mut *submission));
    let turn = intake.submissions().take_for_jobs(caller, 1, submission.body.len()).await;
    let pending = PendingSubmission { intake, bucket, sender, begun, span, turn: Some(turn), judging: None };
    let (other, judged, span) = pending.judge_in_current(submission, origin).await;
    let bucket = other.as_ref().unwrap_or(bucket);
    record_decision(intake, bucket.name(), sender, (begun, span), &judged);
    let limits = judged.as_ref().map(|judged| caller_fields(judged, intake.settings())).unwrap_or_default();
    let admitted = into_result(intake, bucket.name(), judged)?;
    let mut response = match wait {
        // Boxed, as it is rare: that keeps the future of other submissions small.
        Some((wait, reader, waiter)) => {
            Box::pin(sync_wait::respond(intake, bucket, &admitted, wait, reader, waiter)).await
        }
        None => receipt::response(intake.settings(), bucket, &admitted),
    };
    add_caller_fields(response.headers_mut(), limits);
    Ok(response)
}

/// A submission that the bucket hasn't decided on yet. If the client disconnects, this is dropped, but the decision is
/// still made: so `drop` spawns a task that waits for it, keeps the turn until then, and records it.
struct PendingSubmission<'s> {
    intake: &'s Intake,
    bucket: &'s Bucket,
    sender: Option<&'s str>,
    begun: Instant,
    span: SubmissionSpan,
    turn: Option<Turn>,
    /// `Some` while Redis decides.
    judging: Option<PendingAdmission>,
}

impl PendingSubmission<'_> {
    /// Submits to the current incarnation of the bucket: if it was deleted and created again after this intake read its
    /// definition, the new bucket decides, and is returned.
    async fn judge_in_current(
        mut self,
        submission: Box<Submission>,
        origin: Arc<Origin>,
    ) -> (Option<Bucket>, Result<AdmissionDecision, BucketError>, SubmissionSpan) {
        let (intake, bucket) = (self.intake, self.bucket);
        // Only a bucket created over the API has incarnations, and so may need a second try.
        let retry = bucket.incarnation().map(|_| (submission.clone(), Arc::clone(&origin)));
        let judged = match bucket.submit(submission, origin).await {
            Ok(judging) => self.judging.insert(judging).await.unwrap_or(Err(BucketError::Closing)),
            Err(error) => Err(error),
        };
        self.judging = None;
        let (other, judged) = match retry {
            None => (None, judged),
            Some((submission, origin)) => {
                let retry = |bucket: Bucket| async move { bucket.admit_from(submission, origin).await };
                intake.or_current(bucket, judged, retry).await
            }
        };
        (other, judged, mem::take(&mut self.span))
    }
}

impl Drop for PendingSubmission<'_> {
    fn drop(&mut self) {
        let Some(judging) = self.judging.take() else { return };
        let (span, turn) = (mem::take(&mut self.span), self.turn.take());
        let (intake, bucket, begun) = (self.intake.clone(), self.bucket.clone(), self.begun);
        let sender = self.sender.map(str::to_owned);
        tokio::spawn(async move {
            // An error only if the process ends.
            let Ok(judged) = judging.await else { return };
            drop(turn);
            record_decision(&intake, bucket.name(), sender.as_deref(), (begun, span), &judged);
            drop(into_result(&intake, bucket.name(), judged));
        });
    }
}

/// Records the decision, and how long it took, in metrics, trace and log.
fn record_decision(
    intake: &Intake,
    bucket: &BucketName,
    sender: Option<&str>,
    (begun, span): (Instant, SubmissionSpan),
    judged: &Result<AdmissionDecision, BucketError>,
) {
    intake.metrics().admitted_in(bucket, begun.elapsed(), span.trace());
    span.end(bucket, judged);
    count_refused_caller(intake, bucket, sender, judged);
}

/// Counts a refusal for its caller, who is known only with API keys.
pub(crate) fn count_refused_caller(
    intake: &Intake,
    bucket: &BucketName,
    caller: Option<&str>,
    judged: &Result<AdmissionDecision, BucketError>,
) {
    if let (Some(caller), Ok(judged)) = (caller, judged) {
        intake.metrics().refused_caller(bucket, caller, judged);
    }
}

/// Converts the bucket's decision into a result, and counts it.
pub(crate) fn into_result(
    intake: &Intake,
    bucket: &BucketName,
    judged: Result<AdmissionDecision, BucketError>,
) -> Result<Admitted, Problem> {
    let admitted = into_item_result(intake, bucket, judged)?;
    intake.metrics().accepted(bucket, u64::from(!admitted.repeated));
    Ok(admitted)
}

/// Like `into_result` for an item of a batch: counts only refusals.
pub(super) fn into_item_result(
    intake: &Intake,
    bucket: &BucketName,
    judged: Result<AdmissionDecision, BucketError>,
) -> Result<Admitted, Problem> {
    if let Ok(judged) = &judged {
        intake.metrics().limited(bucket, judged);
    }
    let result = judged.map_err(Problem::from).and_then(|judged| match judged.admission {
        Admission::Admitted(admitted) => Ok(admitted),
        Admission::Refused(ref refused) => Err(refusal(&judged, refused).with(all_fields(&judged, intake.settings()))),
    });
    count_problem(intake, bucket, result)
}

fn refusal(judged: &AdmissionDecision, refused: &Refused) -> Problem {
    let problem = Problem::refused(refused);
    let violated = judged.violated();
    if violated.is_empty() {
        return problem;
    }
    let message = judged.limits.as_ref().and_then(Decision::message);
    problem.violating(violated.into_iter().map(str::to_owned).collect(), message)
}

/// Counts the problem if there is one.
pub(crate) fn count_problem<T>(intake: &Intake, bucket: &BucketName, result: Result<T, Problem>) -> Result<T, Problem> {
    result.inspect_err(|problem| intake.metrics().refused(bucket, problem.code()))
}
