//! One job's journey through a lane, once it is taken: call → judge → settle.

use std::panic::AssertUnwindSafe;

use dripfeed_bucket::{Claim, Permit, Replica, Settled, Settlement, Taken};
use dripfeed_job::{Ending, Job};
use futures::FutureExt;
use tokio::time::Instant;

use crate::call::{self, Bounds, Called};
use crate::judge;
use crate::lane::Lane;
use crate::request;

/// Takes one job to the end of this attempt.
pub(crate) async fn run(lane: &Lane, replica: &Replica, taken: Taken) {
    let Taken { claim, permit, job } = taken;
    lane.metrics().taken(claim.id());
    let settlement = match job {
        Ok(job) => attempt(lane, &job, claim.failures(), permit).await,
        Err(unreadable) => Settlement::Bury { reason: unreadable.to_string(), status: None, answer: None },
    };
    settle(lane, replica, claim, settlement).await;
}

async fn attempt(lane: &Lane, job: &Job, failures: u32, permit: Permit) -> Settlement {
    let route = lane.route();
    let bucket = lane.bucket().settings();
    let request = match request::build(job, failures.saturating_add(1), &bucket.name, route.upstream()) {
        Ok(request) => request,
        Err(unsendable) => {
            return Settlement::Bury { reason: unsendable.to_string(), status: None, answer: None };
        }
    };
    let bounds = Bounds {
        time: job.timeout.unwrap_or(route.upstream().timeout()),
        read: route.upstream().max_answer(),
        kept: bucket.keep.answer_bytes,
    };
    if lane.is_stopping() || !spend(permit) {
        return Settlement::GiveBack;
    }
    let begun = Instant::now();
    // A panic of ours must leave the claim in our hands: a job of a living replica comes back by that replica alone.
    let call = AssertUnwindSafe(call::call(route.client(), request, bounds)).catch_unwind();
    let called = tokio::select! {
        called = call => called.unwrap_or_else(|_| Called::panicked()),
        () = lane.out_of_time() => return Settlement::GiveBack,
    };
    lane.metrics().attempted(called.class, begun.elapsed());
    judge::settlement(called, job, failures, &bucket, fastrand::f64())
}

/// Spends the token of the pace on the call that follows, unless it has grown old.
#[expect(clippy::needless_pass_by_value, reason = "a token that was spent is gone")]
fn spend(permit: Permit) -> bool {
    permit.is_fresh()
}

async fn settle(lane: &Lane, replica: &Replica, claim: Claim, settlement: Settlement) {
    let (bucket, job, attempt) = (lane.bucket().name(), claim.id(), claim.failures().saturating_add(1));
    let ending = match &settlement {
        Settlement::Complete { .. } => Some(Ending::Delivered),
        Settlement::Bury { reason, .. } => {
            tracing::warn!(%bucket, %job, attempt, reason, "A job is dead");
            Some(Ending::Dead)
        }
        Settlement::Retry { after } => {
            tracing::debug!(%bucket, %job, attempt, ?after, "An attempt failed; the job is parked until the next");
            None
        }
        Settlement::Hold { wait } => {
            tracing::debug!(%bucket, %job, ?wait, "The upstream asks everyone to wait");
            None
        }
        Settlement::GiveBack => None,
    };
    match replica.settle(claim, settlement).await {
        Ok(Settled::Recorded) => {
            if let Some(ending) = ending {
                lane.metrics().ended(job, ending);
            }
        }
        Ok(Settled::Fenced) => {
            tracing::info!(%bucket, %job, "This replica had been declared dead; another one has the job");
        }
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::error!(%bucket, %job, error, "An attempt's end could not be recorded; the job comes back");
        }
    }
}
