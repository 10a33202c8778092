//! Standby: an idle lane leaves its bucket's consumer group. It is woken by a message, or by the periodic check of all
//! buckets on standby.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketError, Standby, with_jobs};
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::lane_context::LaneContext;

/// What nobody announced is found within this time: what others add, and a message that was lost.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(1);

/// In how many looks at a bucket ended work is forgotten once, where no intake does it.
const LOOKS_PER_RETENTION: u32 = 5;

/// Lanes that look at once: a thousand that begin together would need a thousand scripts in memory.
static LOOKS: Semaphore = Semaphore::const_new(8);

/// Returns when the lane is to join, or to stop.
pub(crate) async fn until_needed(context: &LaneContext, standby: &Standby) {
    context.standby().set(true);
    tokio::select! {
        // The first look finds what came while the replica left.
        () = until_seen(context.bucket(), standby) => {}
        () = standby.called() => {}
        () = context.standby().woken() => {}
        () = context.stopping() => {}
    }
    context.standby().set(false);
}

/// Until a look shows that the lane is to join.
async fn until_seen(bucket: &Bucket, standby: &Standby) {
    for look in 0_u32.. {
        // It is never closed.
        let one_of_few = LOOKS.acquire().await;
        // Apart, so that a lane that waits, also for its look, takes little memory.
        let needed = Box::pin(is_needed(bucket, standby, look.is_multiple_of(LOOKS_PER_RETENTION))).await;
        drop(one_of_few);
        let next = match needed {
            Ok(true) => return,
            Ok(false) => standby.until_next_look(),
            Err(error) => {
                tracing::debug!(bucket = %bucket.name(), %error, "could not check this bucket for jobs");
                BETWEEN_SWEEPS
            }
        };
        sleep(next).await;
    }
}

async fn is_needed(bucket: &Bucket, standby: &Standby, forgets: bool) -> Result<bool, BucketError> {
    let needed = standby.look().await?;
    if forgets && let Err(error) = bucket.enforce_retention().await {
        tracing::debug!(bucket = %bucket.name(), %error, "could not delete expired records");
    }
    Ok(needed)
}

/// Wakes the lanes on standby whose buckets have jobs.
pub(crate) async fn keep_sweeping(lanes: impl Fn() -> Vec<Arc<LaneContext>>) -> Infallible {
    let mut ticks = interval(BETWEEN_SWEEPS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let mut quiet = lanes();
        quiet.retain(|lane| lane.standby().stands_by());
        let buckets: Vec<Bucket> = quiet.iter().map(|lane| lane.bucket().clone()).collect();
        match with_jobs(&buckets).await {
            Ok(found) => {
                let found = quiet.iter().zip(found).filter(|(_, has_jobs)| *has_jobs);
                found.for_each(|(lane, _)| lane.standby().wake());
            }
            // The next sweep is the next try.
            Err(error) => tracing::debug!(%error, "could not check the buckets on standby"),
        }
    }
}
