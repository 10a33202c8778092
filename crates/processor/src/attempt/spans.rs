//! The spans of an attempt: the wait before it, the call, and its settlement. Of jobs that were sampled at their
//! submission, where traces are exported.

use std::time::{Duration, UNIX_EPOCH};

use dripfeed_bucket::{Claim, Settlement};
use dripfeed_job::{Job, Verdict};
use dripfeed_trace::{ActiveSpan, SpanKind, TraceContext, Tracer};

use crate::call::CallResult;
use crate::lane_context::LaneContext;

/// Ends the wait, and begins the attempt.
pub(super) fn begin(context: &LaneContext, claim: &Claim, job: &Job) -> Option<ActiveSpan> {
    let submission = TraceContext::parse(job.traceparent.as_deref()?)?;
    let mut wait = begin_one(context, claim, "wait", SpanKind::Internal, submission)?;
    // By the clock of Redis: one that is ahead of ours makes the wait empty.
    let due_ms = claim.due_ms().or(job.due_ms).unwrap_or_else(|| job.id.accepted_ms());
    wait.began(UNIX_EPOCH + Duration::from_millis(due_ms));
    wait.end();
    let mut attempt = begin_one(context, claim, "attempt", SpanKind::Client, submission)?;
    attempt.link(submission);
    Some(attempt)
}

/// What the upstream answered.
pub(super) fn answered(span: &mut ActiveSpan, called: &CallResult) {
    if let Some(status) = called.answer.status() {
        span.set("http.response.status_code", status);
    }
    if let Verdict::Failed(why) | Verdict::Dead(why) = called.answer.judge() {
        span.set("error.type", called.class);
        span.fail(why);
    }
}

/// Of what is recorded of an attempt, or of a job without one.
pub(super) fn settlement(
    tracer: Option<&Tracer>,
    attempt: TraceContext,
    settlement: &Settlement,
) -> Option<ActiveSpan> {
    let mut span = tracer?.child("settle", SpanKind::Internal, attempt)?;
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
    claim: &Claim,
    name: &'static str,
    kind: SpanKind,
    submission: TraceContext,
) -> Option<ActiveSpan> {
    let mut span = context.tracer()?.child(name, kind, submission)?;
    span.set("dripfeed.bucket", context.bucket().name().as_str());
    span.set("dripfeed.job.id", claim.id().to_string());
    span.set("dripfeed.attempt", claim.failures().saturating_add(1));
    Some(span)
}
