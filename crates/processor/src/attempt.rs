//! One attempt at a claimed job: call → decide → settle.

mod settle;
mod spans;

use std::error::Error;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use dripfeed_bucket::{BucketSettings, Charge, ClaimedJob, FailedCall, Feedback, Permit, Replica, Settlement};
use dripfeed_job::{Job, Retry, Verdict};
use dripfeed_trace::ActiveSpan;
use futures::FutureExt;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::call::request;
use crate::call::{self, CallBounds, CallResult};
use crate::lane_context::LaneContext;

use self::spans::AttemptTrace;

/// Makes one attempt at a job, and settles it.
pub(crate) fn run(context: Arc<LaneContext>, replica: Replica, claimed: ClaimedJob) -> impl Future<Output = ()> + Send {
    // Destructured outside of the future, which would otherwise store the parts twice.
    let ClaimedJob { claim, permit, job } = claimed;
    async move {
        let context = &*context;
        let traced = job.as_ref().ok().filter(|job| job.traceparent.is_some());
        let mut span = traced.and_then(|job| spans::begin(context, &replica, &claim, job)).map(Box::new);
        context.metrics().claimed(claim.id(), span.as_ref().map(|span| span.context().trace));
        let (settlement, feedback) = match &job {
            Ok(job) => {
                let (started, failures) = (Instant::now(), claim.failures());
                let result = catch_panic(attempt(context, job, failures, permit, span.as_deref_mut())).await;
                result.unwrap_or_else(|| {
                    evaluate(context, CallResult::panicked(), job, failures, started, span.as_deref_mut())
                })
            }
            Err(unreadable) => (bury_uncalled(unreadable), uncalled(permit.charge())),
        };
        let traced = span.as_deref().map(AttemptTrace::of);
        drop((span, job));
        settle::settle(context, &replica, claim, settlement, feedback, traced).await;
    }
}

async fn attempt(
    context: &LaneContext,
    job: &Job,
    failures: u32,
    permit: Permit,
    span: Option<&mut ActiveSpan>,
) -> (Settlement, Feedback) {
    let route = context.route();
    let bucket = context.bucket().settings();
    let (attempt, upstream) = (failures.saturating_add(1), route.upstream());
    let traced = span.as_ref().map(|span| span.context());
    let request = match request::build(job, attempt, &bucket.name, upstream, Timestamp::now(), traced) {
        Ok(request) => request,
        Err(unsendable) => return (bury_uncalled(&unsendable), uncalled(permit.charge())),
    };
    let bounds = CallBounds {
        timeout: job.timeout.unwrap_or(upstream.timeout()),
        read_bytes: upstream.max_answer(),
        kept_bytes: bucket.keep.answer_bytes,
    };
    let charge = permit.charge();
    if context.is_stopping() || !permit.spend().await {
        return (Settlement::Requeue, uncalled(charge));
    }
    let started = Instant::now();
    let result = tokio::select! {
        result = call::call(route.client(), request, bounds) => result,
        () = context.attempts_aborted() => return (Settlement::Requeue, Feedback::default()),
    };
    match result {
        Ok(result) => {
            context.shortage().on_call();
            evaluate(context, result, job, failures, started, span)
        }
        Err(shortage) => {
            context.shortage().on_shortage(&shortage);
            (Settlement::Requeue, uncalled(charge))
        }
    }
}

/// Records the result of a call in metrics and span, and decides what becomes of the job.
fn evaluate(
    context: &LaneContext,
    result: CallResult,
    job: &Job,
    failures: u32,
    started: Instant,
    span: Option<&mut ActiveSpan>,
) -> (Settlement, Feedback) {
    let trace = span.as_ref().map(|span| span.context().trace);
    context.metrics().attempted(result.class, result.answer.status(), started.elapsed(), trace);
    if let Some(span) = span {
        spans::record_answer(span, &result);
    }
    let feedback = feedback(&result);
    (decide(result, job, failures, &context.bucket().settings(), fastrand::f64()), feedback)
}

/// The settlement for the result of an attempt. `failures`: earlier failed attempts; `draw` is uniform in `[0, 1)`.
fn decide(result: CallResult, job: &Job, failures: u32, bucket: &BucketSettings, draw: f64) -> Settlement {
    let CallResult { answer, body, .. } = result;
    let status = answer.status();
    match answer.verdict() {
        // Only an answer with a status is a delivery.
        Verdict::Delivered => Settlement::Complete { status: status.unwrap_or_default(), answer: body },
        Verdict::Throttled { retry_after } => {
            Settlement::Throttled { wait: retry_after.map(|wait| wait.min(bucket.leak.max_hold)) }
        }
        Verdict::Dead(reason) => Settlement::Bury { reason, status, answer: body, called: true },
        Verdict::Failed(why) => {
            let retry = retry_of(job, &bucket.retry);
            match retry.after(failures.saturating_add(1), draw) {
                Some(after) => Settlement::Retry { after },
                None => Settlement::Bury { reason: out_of_retries(&retry, &why), status, answer: body, called: true },
            }
        }
    }
}

/// What the bucket records in addition: a timeout, an exhausted quota, the failed attempt.
fn feedback(result: &CallResult) -> Feedback {
    let answer = &result.answer;
    let failed = match answer.verdict() {
        Verdict::Failed(reason) | Verdict::Dead(reason) => {
            Some(FailedCall { status: answer.status(), reason, answer: result.body.clone() })
        }
        Verdict::Delivered | Verdict::Throttled { .. } => None,
    };
    Feedback { timed_out: answer.timed_out(), exhausted_for: answer.exhausted_for(), failed, unused: None }
}

/// The feedback if no call was made.
fn uncalled(unused: Option<Charge>) -> Feedback {
    Feedback { unused, ..Feedback::default() }
}

/// A job's own number of retries overrides the bucket's.
fn retry_of(job: &Job, bucket: &Retry) -> Retry {
    let attempts = job.retries.map_or(bucket.attempts, |retries| retries.saturating_add(1));
    Retry { attempts, ..*bucket }
}

fn out_of_retries(retry: &Retry, why: &str) -> String {
    match retry.attempts {
        0 | 1 => format!("{why}; it was the only attempt"),
        attempts => format!("{why}; that was the last of {attempts} attempts"),
    }
}

/// Returns `None` if the attempt panicked. The claim must survive that: while a replica lives, only the replica itself
/// can requeue a job that it has claimed.
fn catch_panic<T>(attempt: impl Future<Output = T>) -> impl Future<Output = Option<T>> {
    AssertUnwindSafe(attempt).catch_unwind().map(Result::ok)
}

/// Dead-letters a job of which no request can be made.
fn bury_uncalled(why: &dyn Error) -> Settlement {
    Settlement::Bury { reason: why.to_string(), status: None, answer: None, called: false }
}

#[cfg(test)]
mod tests;
