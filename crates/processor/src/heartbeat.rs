//! Shows the other replicas that this one lives, and requeues the jobs of dead ones.

use dripfeed_bucket::{Bucket, Replica};
use tokio::time::{MissedTickBehavior, interval};

use crate::metrics::LaneMetrics;
use crate::outage_backoff::OutageBackoff;
use crate::retention;

/// Beats until this replica has itself been declared dead, and lets the bucket forget ended work meanwhile.
pub(crate) async fn until_fenced(replica: &Replica, bucket: &Bucket, metrics: &LaneMetrics) {
    tokio::select! {
        () = beat(replica, bucket, metrics) => {}
        never = retention::keep(bucket) => match never {},
    }
}

async fn beat(replica: &Replica, bucket: &Bucket, metrics: &LaneMetrics) {
    let mut ticks = interval(replica.beat_interval());
    // After a pause the beats go on as before: catching up on those that were missed would say nothing to the others.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut outage = OutageBackoff::none_yet(bucket.name().clone(), "show that it lives");
    loop {
        ticks.tick().await;
        match replica.beat().await {
            Ok(recovery) if recovery.fenced => return,
            Ok(recovery) => {
                outage.over();
                metrics.recovered(&recovery);
            }
            // The next beat is the next try.
            Err(error) => drop(outage.failed(&error)),
        }
    }
}
