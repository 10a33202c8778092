//! One attempt at a job, once it is claimed: call → decide → settle.

mod settle;
mod spans;

use std::error::Error;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use dripfeed_bucket::{BucketSettings, ClaimedJob, FailedCall, Feedback, Permit, Replica, Settlement};
use dripfeed_job::{Job, Retry, Verdict};
use dripfeed_trace::ActiveSpan;
use futures::FutureExt;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::call::request;
use crate::call::{self, CallBounds, CallResult};
use crate::lane_context::LaneContext;

/// Takes one job to the end of this attempt.
pub(crate) fn run(context: Arc<LaneContext>, replica: Replica, taken: ClaimedJob) -> impl Future<Output = ()> + Send {
    // Taken apart before the future begins, which would hold the whole beside its parts.
    let ClaimedJob { claim, permit, job } = taken;
    async move {
        let context = &*context;
        let traced = job.as_ref().ok().filter(|job| job.traceparent.is_some());
        let mut span = traced.and_then(|job| spans::begin(context, &claim, job)).map(Box::new);
        let trace = span.as_ref().map(|span| span.context());
        context.metrics().taken(claim.id(), trace.map(|context| context.trace));
        let (settlement, feedback) = match &job {
            Ok(job) => {
                let (begun, failures) = (Instant::now(), claim.failures());
                let ended = unbroken(attempt(context, job, failures, permit, span.as_deref_mut())).await;
                ended.unwrap_or_else(|| {
                    judged(context, CallResult::panicked(), job, failures, begun, span.as_deref_mut())
                })
            }
            Err(unreadable) => (uncalled(unreadable), Feedback::default()),
        };
        drop((span, job));
        settle::settle(context, &replica, claim, settlement, feedback, trace).await;
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
        Err(unsendable) => return (uncalled(&unsendable), Feedback::default()),
    };
    let bounds = CallBounds {
        time: job.timeout.unwrap_or(upstream.timeout()),
        read: upstream.max_answer(),
        kept: bucket.keep.answer_bytes,
    };
    if context.is_stopping() || !permit.spend().await {
        return (Settlement::Requeue, Feedback::default());
    }
    let begun = Instant::now();
    let called = tokio::select! {
        called = call::call(route.client(), request, bounds) => called,
        () = context.out_of_time() => return (Settlement::Requeue, Feedback::default()),
    };
    match called {
        Ok(called) => {
            context.shortage().passed();
            judged(context, called, job, failures, begun, span)
        }
        Err(shortage) => {
            context.shortage().met(&shortage);
            (Settlement::Requeue, Feedback::default())
        }
    }
}

fn judged(
    context: &LaneContext,
    called: CallResult,
    job: &Job,
    failures: u32,
    begun: Instant,
    span: Option<&mut ActiveSpan>,
) -> (Settlement, Feedback) {
    let trace = span.as_ref().map(|span| span.context().trace);
    context.metrics().attempted(called.class, called.answer.status(), begun.elapsed(), trace);
    if let Some(span) = span {
        spans::answered(span, &called);
    }
    let feedback = feedback(&called);
    (decide(called, job, failures, &context.bucket().settings(), fastrand::f64()), feedback)
}

/// The settlement for the result of an attempt. `failures`: earlier failed attempts; `draw` is uniform in `[0, 1)`.
fn decide(called: CallResult, job: &Job, failures: u32, bucket: &BucketSettings, draw: f64) -> Settlement {
    let CallResult { answer, body, .. } = called;
    let status = answer.status();
    match answer.judge() {
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
                None => Settlement::Bury { reason: last_of(&retry, &why), status, answer: body, called: true },
            }
        }
    }
}

/// What else the bucket records: a timeout, an exhausted quota, the failed attempt.
fn feedback(called: &CallResult) -> Feedback {
    let answer = &called.answer;
    let failed = match answer.judge() {
        Verdict::Failed(reason) | Verdict::Dead(reason) => {
            Some(FailedCall { status: answer.status(), reason, answer: called.body.clone() })
        }
        Verdict::Delivered | Verdict::Throttled { .. } => None,
    };
    Feedback { timed_out: answer.timed_out(), exhausted_for: answer.exhausted_for(), failed }
}

/// A job that says how often it may be tried again overrides the bucket.
fn retry_of(job: &Job, bucket: &Retry) -> Retry {
    let attempts = job.retries.map_or(bucket.attempts, |retries| retries.saturating_add(1));
    Retry { attempts, ..*bucket }
}

fn last_of(retry: &Retry, why: &str) -> String {
    match retry.attempts {
        0 | 1 => format!("{why}; it was the only attempt"),
        attempts => format!("{why}; that was the last of {attempts} attempts"),
    }
}

/// A panic of ours must leave the claim in our hands: a job of a living replica comes back by that replica alone. None:
/// it panicked.
fn unbroken<T>(attempt: impl Future<Output = T>) -> impl Future<Output = Option<T>> {
    AssertUnwindSafe(attempt).catch_unwind().map(Result::ok)
}

/// For what can't be sent at all.
fn uncalled(why: &dyn Error) -> Settlement {
    Settlement::Bury { reason: why.to_string(), status: None, answer: None, called: false }
}

#[cfg(test)]
mod tests;
