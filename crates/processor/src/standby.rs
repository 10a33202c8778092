//! Standby: a lane without work leaves its bucket's group, and looks at it rarely. A message wakes it, or the one look
//! that is taken at the buckets of all such lanes.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketError, Standby, with_jobs};
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::lane_context::LaneContext;

/// What nobody announced is found within this time: what others add, and a message that was lost.
const BETWEEN_SWEEPS: Duration = Duration::from_secs(1);

/// Returns when the lane is to join again, or to stop.
pub(crate) async fn until_needed(context: &LaneContext, standby: &mut Standby) {
    let state = context.standby();
    state.set(true);
    // The first look finds what came while the replica left.
    loop {
        let next_look = match is_needed(context.bucket(), standby).await {
            Ok(true) => break,
            Ok(false) => standby.until_next_look(),
            Err(error) => {
                tracing::debug!(bucket = %context.bucket().name(), %error, "This bucket can't be looked at");
                BETWEEN_SWEEPS
            }
        };
        let next_look = sleep(next_look);
        tokio::select! {
            () = standby.called() => break,
            () = state.woken() => break,
            () = context.stopping() => break,
            () = next_look => {}
        }
    }
    state.set(false);
}

async fn is_needed(bucket: &Bucket, standby: &mut Standby) -> Result<bool, BucketError> {
    // Where no intake runs, nobody else forgets ended work.
    let (needed, _) = tokio::join!(standby.look(), bucket.enforce_retention());
    needed
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
            Err(error) => tracing::debug!(%error, "Buckets on standby can't be looked at"),
        }
    }
}
