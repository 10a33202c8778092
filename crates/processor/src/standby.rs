//! Standby: an idle lane leaves its bucket's consumer group. It is woken by a message, or by the periodic check of all
//! buckets on standby.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{
    BucketError, Consumer, Replica, SWEEP_INTERVAL, Standby, Sweep, Sweeper, announce_jobs, with_jobs,
};
use dripfeed_job::Ending;
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::consumer_name::ConsumerName;
use crate::lane_context::LaneContext;
use crate::standby_state::on_standby;

/// One in this many checks of a bucket also deletes expired records, in case no intake does.
const CHECKS_PER_RETENTION: u32 = 5;
/// Delay after a check that failed.
const CHECK_RETRY: Duration = Duration::from_secs(1);
/// If the first replica that joined hasn't settled the announced jobs within this time, the others join, too. Short
/// compared with calls that are worth sharing, long compared with the time that dripfeed needs for a job.
const HEAD_START: Duration = Duration::from_millis(50);

/// A lane that joined too late this often no longer tries to be the first. If that one is gone, the lane joins after
/// `HEAD_START`.
const MAX_LATE_JOINS: u32 = 4;

/// Concurrent checks: a thousand lanes that start together would need the memory of a thousand script calls.
static CHECKS: Semaphore = Semaphore::const_new(8);

/// Returns when the lane should join or stop; with a `Replica` if it has joined as the first one after an announcement.
pub(crate) async fn wait_until_needed(
    context: &LaneContext,
    standby: &Standby,
    name: &ConsumerName,
    lease: Duration,
) -> Option<Replica> {
    let (mut announcements, mut late_joins) = (standby.announcements(), 0);
    // The first check finds jobs that came while the replica left.
    let mut needed = pin!(check_until_needed(context, standby));
    let _on_standby = context.standby().begin();
    loop {
        tokio::select! {
            () = &mut needed => return None,
            () = context.standby().woken() => return None,
            () = context.stopped() => return None,
            () = announcements.next() => {}
        }
        if late_joins < MAX_LATE_JOINS {
            // Boxed, so that the future of a waiting lane is small.
            match Box::pin(standby.join_first(name.new_consumer(), lease)).await {
                Ok(None) => late_joins += 1,
                Ok(joined) => return joined,
                // The caller joins, and logs the error if it fails again.
                Err(_) => return None,
            }
        }
        tokio::select! {
            () = sleep(HEAD_START) => {}
            () = context.stopped() => return None,
        }
        announcements.skip();
        if Box::pin(context.bucket().level()).await.is_ok_and(|level| level > 0) {
            return None;
        }
    }
}

/// Checks the bucket periodically until the lane should join.
async fn check_until_needed(context: &LaneContext, standby: &Standby) {
    for check in 1_u32.. {
        // Never an error: the semaphore isn't closed.
        let permit = CHECKS.acquire().await;
        let (next, retains) = (Standby::check_interval(on_standby()), check.is_multiple_of(CHECKS_PER_RETENTION));
        // Boxed, so that the future of a waiting lane is small.
        let needed = Box::pin(is_needed(context, standby, next, retains)).await;
        drop(permit);
        let next = match needed {
            Ok(true) => return,
            // Jitter, so that the lanes don't check all at once.
            Ok(false) => next.mul_f64(0.75 + fastrand::f64() / 2.0),
            Err(error) => {
                tracing::debug!(bucket = %context.bucket().name(), %error, "could not check this bucket for jobs");
                CHECK_RETRY
            }
        };
        sleep(next).await;
    }
}

async fn is_needed(
    context: &LaneContext,
    standby: &Standby,
    next: Duration,
    retains: bool,
) -> Result<bool, BucketError> {
    let needed = standby.check(next).await?;
    if retains {
        let bucket = context.bucket();
        match bucket.enforce_retention().await {
            Ok(retention) => context.metrics().ended_uncalled(Ending::Expired, retention.expired),
            Err(error) => tracing::debug!(bucket = %bucket.name(), %error, "could not delete expired records"),
        }
    }
    Ok(needed)
}

/// Wakes the lanes on standby whose buckets have jobs: those of this process, and of others if it sweeps for all.
pub(crate) async fn keep_sweeping(process: Consumer, lanes: impl Fn() -> Vec<Arc<LaneContext>>) -> Infallible {
    let mut sweeper = Sweeper::new(process);
    let mut ticks = interval(SWEEP_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // The next sweep is the retry.
        if let Err(error) = sweep(&mut sweeper, lanes()).await {
            tracing::debug!(%error, "could not check the buckets on standby");
        }
    }
}

async fn sweep(sweeper: &mut Sweeper, mut lanes: Vec<Arc<LaneContext>>) -> Result<(), BucketError> {
    let buckets = |lanes: &[Arc<LaneContext>]| lanes.iter().map(|lane| lane.bucket().clone()).collect::<Vec<_>>();
    let sweep = sweeper.next_sweep(&buckets(&lanes)).await;
    if sweep == Sweep::Skipped {
        return Ok(());
    }
    lanes.retain(|lane| lane.standby().is_on_standby());
    let has_jobs = with_jobs(&buckets(&lanes)).await?;
    let mut has_jobs = has_jobs.into_iter();
    lanes.retain(|_| has_jobs.next() == Some(true));
    lanes.iter().for_each(|lane| lane.standby().wake());
    if sweep == Sweep::ForAll {
        announce_jobs(lanes.iter().map(|lane| lane.bucket())).await;
    }
    Ok(())
}
