//! Settles the job of an attempt: records the result in Redis, counts it and logs it.

use std::error::Error;
use std::time::Instant;

use dripfeed_bucket::{Claim, Feedback, Replica, SettleResult, Settlement};
use dripfeed_job::Ending;
use dripfeed_trace::ActiveSpan;

use super::spans::{self, AttemptTrace};
use crate::lane_context::LaneContext;

/// `traced`: `None` if the job isn't.
pub(super) fn settle<'a>(
    context: &'a LaneContext,
    replica: &'a Replica,
    claim: Claim,
    settlement: Settlement,
    feedback: Feedback,
    traced: Option<AttemptTrace>,
) -> impl Future<Output = ()> + Send {
    let (bucket, job, attempt) = (context.bucket().name(), claim.id(), claim.failures().saturating_add(1));
    let mut span =
        traced.and_then(|traced| spans::settlement(context, replica, &claim, traced, &settlement)).map(Box::new);
    let trace = traced.map(|traced| traced.attempt.trace);
    let trace_id = trace.map(tracing::field::display);
    let is_retry = matches!(settlement, Settlement::Retry { .. });
    let ending = match &settlement {
        Settlement::Complete { status, .. } => {
            tracing::debug!(%bucket, %job, attempt, status, trace_id, "job delivered");
            Some(Ending::Delivered)
        }
        Settlement::Bury { reason, .. } => {
            if let Some(suppressed) = context.dead_letter_log().due(Instant::now()) {
                let suppressed = (suppressed > 0).then_some(suppressed);
                tracing::warn!(%bucket, %job, attempt, reason, trace_id, suppressed, "job dead-lettered");
            } else {
                tracing::debug!(%bucket, %job, attempt, reason, trace_id, "job dead-lettered");
            }
            Some(Ending::Dead)
        }
        Settlement::Retry { after } => {
            tracing::debug!(
                %bucket, %job, attempt, ?after, trace_id,
                "attempt failed; the job is parked until the next one"
            );
            None
        }
        Settlement::Throttled { wait } => {
            tracing::debug!(%bucket, %job, ?wait, trace_id, "the upstream asked to wait; the bucket is throttled");
            None
        }
        Settlement::Requeue => None,
    };
    // Called outside of the future, which would otherwise store the arguments, too.
    let settled = replica.settle_with(claim, settlement, feedback);
    async move {
        match settled.await {
            Ok(SettleResult::Recorded) => {
                if let Some(ending) = ending {
                    context.metrics().ended(job, ending, trace);
                }
                if is_retry {
                    context.metrics().retried();
                }
            }
            // Counted when it becomes a dead letter.
            Ok(SettleResult::WaitsForRoom) => {
                tracing::debug!(%bucket, %job, trace_id, "the dead letters are full; the job waits in the bucket");
            }
            // Counted by the replica that ended it.
            Ok(SettleResult::EndedBefore) => {
                tracing::debug!(%bucket, %job, trace_id, "another replica has ended the job; its outcome stays");
            }
            Ok(SettleResult::Fenced) => {
                fail(span.as_deref_mut(), "another replica has claimed the job");
                // The lane logs a warning once for all of its jobs.
                tracing::debug!(%bucket, %job, trace_id, "this replica was declared dead; the job was requeued");
            }
            Err(error) => {
                fail(span.as_deref_mut(), &error.to_string());
                let error = &error as &dyn Error;
                if let Some(suppressed) = context.unrecorded_log().due(Instant::now()) {
                    let suppressed = (suppressed > 0).then_some(suppressed);
                    tracing::error!(
                        %bucket, %job, error, trace_id, suppressed,
                        "could not record the result of an attempt; the job will be requeued"
                    );
                }
            }
        }
    }
}

fn fail(span: Option<&mut ActiveSpan>, why: &str) {
    if let Some(span) = span {
        span.fail(why);
    }
}
