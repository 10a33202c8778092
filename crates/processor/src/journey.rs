//! One job's journey through a lane, once it is taken: call → judge → settle.

use std::error::Error;
use std::panic::AssertUnwindSafe;

use dripfeed_bucket::{Claim, Feedback, Permit, Replica, Settled, Settlement, Taken};
use dripfeed_job::{Ending, Job};
use futures::FutureExt;
use jiff::Timestamp;
use tokio::time::Instant;

use crate::call::{self, Bounds, Called};
use crate::course::Course;
use crate::judge;
use crate::request;

/// Takes one job to the end of this attempt.
pub(crate) async fn run(course: &Course, replica: &Replica, taken: Taken) {
    let Taken { claim, permit, job } = taken;
    course.metrics().taken(claim.id());
    let (settlement, feedback) = match job {
        Ok(job) => attempt(course, &job, claim.failures(), permit).await,
        Err(unreadable) => (uncalled(&unreadable), Feedback::default()),
    };
    settle(course, replica, claim, settlement, feedback).await;
}

async fn attempt(course: &Course, job: &Job, failures: u32, permit: Permit) -> (Settlement, Feedback) {
    let route = course.route();
    let bucket = course.bucket().settings();
    let (attempt, upstream) = (failures.saturating_add(1), route.upstream());
    let request = match request::build(job, attempt, &bucket.name, upstream, Timestamp::now()) {
        Ok(request) => request,
        Err(unsendable) => return (uncalled(&unsendable), Feedback::default()),
    };
    let bounds = Bounds {
        time: job.timeout.unwrap_or(upstream.timeout()),
        read: upstream.max_answer(),
        kept: bucket.keep.answer_bytes,
    };
    if course.is_stopping() || !spend(permit) {
        return (Settlement::GiveBack, Feedback::default());
    }
    let begun = Instant::now();
    let called = tokio::select! {
        called = unbroken(call::call(route.client(), request, bounds)) => called,
        () = course.out_of_time() => return (Settlement::GiveBack, Feedback::default()),
    };
    course.metrics().attempted(called.class, begun.elapsed());
    let feedback = judge::feedback(&called.answer);
    (judge::settlement(called, job, failures, &bucket, fastrand::f64()), feedback)
}

/// A panic of ours must leave the claim in our hands: a job of a living replica comes back by that replica alone.
async fn unbroken(call: impl Future<Output = Called>) -> Called {
    AssertUnwindSafe(call).catch_unwind().await.unwrap_or_else(|_| Called::panicked())
}

/// For what can't be sent at all.
fn uncalled(why: &dyn Error) -> Settlement {
    Settlement::Bury { reason: why.to_string(), status: None, answer: None, called: false }
}

/// Spends the token of the pace on the call that follows, unless it has grown old.
#[expect(clippy::needless_pass_by_value, reason = "a token that was spent is gone")]
fn spend(permit: Permit) -> bool {
    permit.is_fresh()
}

async fn settle(course: &Course, replica: &Replica, claim: Claim, settlement: Settlement, feedback: Feedback) {
    let (bucket, job, attempt) = (course.bucket().name(), claim.id(), claim.failures().saturating_add(1));
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
    match replica.settle_with(claim, settlement, feedback).await {
        Ok(Settled::Recorded) => {
            if let Some(ending) = ending {
                course.metrics().ended(job, ending);
            }
        }
        Ok(Settled::Fenced) => {
            // The lane tells it once for all of them.
            tracing::debug!(%bucket, %job, "This replica had been declared dead; another one has the job");
        }
        Err(error) => {
            let error = &error as &dyn Error;
            tracing::error!(%bucket, %job, error, "An attempt's end could not be recorded; the job comes back");
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::panic, reason = "a panic is what is tested")]
    use super::*;

    #[tokio::test]
    async fn a_panic_is_a_failed_attempt() {
        let called = unbroken(async { panic!("a bug") }).await;
        assert_eq!(called.class, "panic");
        assert!(matches!(called.answer.judge(), dripfeed_job::Verdict::Failed(_)));
    }
}
