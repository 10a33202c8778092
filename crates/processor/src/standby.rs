//! Standby: an idle lane leaves its bucket's consumer group. It is woken by a message, or by the periodic check of all
//! buckets on standby.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{
    BETWEEN_SWEEPS, BucketError, Consumer, Replica, Standby, Sweep, Sweeper, announce_jobs, with_jobs,
};
use dripfeed_job::Ending;
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::consumer_name::ConsumerName;
use crate::lane_context::LaneContext;
use crate::standby_state::on_standby;

/// In how many looks at a bucket ended work is forgotten once, where no intake does it.
const LOOKS_PER_RETENTION: u32 = 5;
/// After a look that failed.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Announced jobs that another replica has not settled within this time need more than one. Short against any call
/// that is worth sharing, long against the way of a job.
const ALONE: Duration = Duration::from_millis(50);

/// Who came too late so often doesn't try to be the first to join: where that one doesn't, it joins after `ALONE`.
const FEW: u32 = 4;

/// Lanes that look at once: a thousand that begin together would need a thousand scripts in memory.
static LOOKS: Semaphore = Semaphore::const_new(8);

/// Returns when the lane is to join, or to stop. Some: it was the first to which jobs were announced, and has joined.
pub(crate) async fn until_needed(
    context: &LaneContext,
    standby: &Standby,
    name: &ConsumerName,
    lease: Duration,
) -> Option<Replica> {
    let (mut announcements, mut too_late) = (standby.announcements(), 0);
    // The first look finds what came while the replica left.
    let mut seen = pin!(until_seen(context, standby));
    let _on_standby = context.standby().begin();
    loop {
        tokio::select! {
            () = &mut seen => return None,
            () = context.standby().woken() => return None,
            () = context.stopping() => return None,
            () = announcements.next() => {}
        }
        if too_late < FEW {
            // Apart, so that a lane that waits takes little memory.
            match Box::pin(standby.join_first(name.of_a_new_life(), lease)).await {
                Ok(None) => too_late += 1,
                Ok(joined) => return joined,
                // It is reported when it fails again.
                Err(_) => return None,
            }
        }
        tokio::select! {
            () = sleep(ALONE) => {}
            () = context.stopping() => return None,
        }
        announcements.skip();
        if Box::pin(context.bucket().level()).await.is_ok_and(|level| level > 0) {
            return None;
        }
    }
}

/// Until a look shows that the lane is to join.
async fn until_seen(context: &LaneContext, standby: &Standby) {
    for look in 0_u32.. {
        // It is never closed.
        let one_of_few = LOOKS.acquire().await;
        // Apart, so that a lane that waits, also for its look, takes little memory.
        let (next, forgets) = (Standby::between_looks(on_standby()), (look + 1).is_multiple_of(LOOKS_PER_RETENTION));
        let needed = Box::pin(is_needed(context, standby, next, forgets)).await;
        drop(one_of_few);
        let next = match needed {
            Ok(true) => return,
            // Not all at once.
            Ok(false) => next.mul_f64(0.75 + fastrand::f64() / 2.0),
            Err(error) => {
                tracing::debug!(bucket = %context.bucket().name(), %error, "could not check this bucket for jobs");
                LOOK_AGAIN
            }
        };
        sleep(next).await;
    }
}

async fn is_needed(
    context: &LaneContext,
    standby: &Standby,
    next: Duration,
    forgets: bool,
) -> Result<bool, BucketError> {
    let needed = standby.look(next).await?;
    if forgets {
        let bucket = context.bucket();
        match bucket.enforce_retention().await {
            Ok(retention) => context.metrics().ended_on_the_way(Ending::Expired, retention.expired),
            Err(error) => tracing::debug!(bucket = %bucket.name(), %error, "could not delete expired records"),
        }
    }
    Ok(needed)
}

/// Wakes the lanes on standby whose buckets have jobs, here and, when it is this process's turn to sweep, elsewhere.
pub(crate) async fn keep_sweeping(process: Consumer, lanes: impl Fn() -> Vec<Arc<LaneContext>>) -> Infallible {
    let mut sweeper = Sweeper::new(process);
    let mut ticks = interval(BETWEEN_SWEEPS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // The next sweep is the next try.
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
    lanes.retain(|lane| lane.standby().stands_by());
    let found = with_jobs(&buckets(&lanes)).await?;
    let mut found = found.into_iter();
    lanes.retain(|_| found.next() == Some(true));
    lanes.iter().for_each(|lane| lane.standby().wake());
    if sweep == Sweep::ForAll {
        announce_jobs(lanes.iter().map(|lane| lane.bucket())).await;
    }
    Ok(())
}
