//! The spans of an attempt: the wait before it, the call, and its settlement. Only jobs that were sampled at their
//! submission have them.

use std::time::{Duration, UNIX_EPOCH};

use dripfeed_bucket::{Claim, Replica, Settlement};
use dripfeed_job::{Job, Verdict};
use dripfeed_trace::{ActiveSpan, SpanKind, TraceContext};

use crate::call::CallResult;
use crate::lane_context::LaneContext;

/// What the span of a settlement refers to.
#[derive(Clone, Copy)]
pub(super) struct AttemptTrace {
    /// Its parent.
    pub(super) attempt: TraceContext,
    submission: Option<TraceContext>,
}

impl AttemptTrace {
    pub(super) fn of(attempt: &ActiveSpan) -> Self {
        Self { attempt: attempt.context(), submission: attempt.linked() }
    }
}

/// Exports the span of the wait, and begins that of the attempt.
pub(super) fn begin(context: &LaneContext, replica: &Replica, claim: &Claim, job: &Job) -> Option<ActiveSpan> {
    let submission = TraceContext::parse(job.traceparent.as_deref()?)?;
    let mut wait = begin_one(context, replica, claim, "wait", SpanKind::Internal, submission)?;
    // By the Redis clock: if it is ahead of this machine's, the wait is empty.
    let due_ms = claim.due_ms().or(job.due_ms).unwrap_or_else(|| job.id.accepted_ms());
    wait.began(UNIX_EPOCH + Duration::from_millis(due_ms));
    wait.end();
    let mut attempt = begin_one(context, replica, claim, "attempt", SpanKind::Client, submission)?;
    attempt.link(submission);
    Some(attempt)
}

pub(super) fn record_answer(span: &mut ActiveSpan, result: &CallResult) {
    if let Some(status) = result.answer.status() {
        span.set("http.response.status_code", status);
    }
    if let Verdict::Failed(why) | Verdict::Dead(why) = result.answer.verdict() {
        span.set("error.type", result.class);
        span.fail(why);
    }
}

/// Begins the span of the settlement.
pub(super) fn settlement(
    context: &LaneContext,
    replica: &Replica,
    claim: &Claim,
    traced: AttemptTrace,
    settlement: &Settlement,
) -> Option<ActiveSpan> {
    let mut span = begin_one(context, replica, claim, "settle", SpanKind::Internal, traced.attempt)?;
    if let Some(submission) = traced.submission {
        span.link(submission);
    }
    span.set(
        "dripfeed.settlement",
        match settlement {
            Settlement::Complete { .. } => "delivered",
            Settlement::Retry { .. } => "retry",
            Settlement::Throttled { .. } => "throttled",
            Settlement::Requeue => "requeue",
            Settlement::Bury { .. } => "dead",
        },
    );
    Some(span)
}

fn begin_one(
    context: &LaneContext,
    replica: &Replica,
    claim: &Claim,
    name: &'static str,
    kind: SpanKind,
    parent: TraceContext,
) -> Option<ActiveSpan> {
    let mut span = context.tracer()?.child(name, kind, parent)?;
    span.set("dripfeed.bucket", context.bucket().name().as_str());
    span.set("dripfeed.replica", replica.consumer().as_str());
    span.set("dripfeed.job.id", claim.id().to_string());
    span.set("dripfeed.attempt", claim.failures().saturating_add(1));
    Some(span)
}
