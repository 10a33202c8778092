//! Shows the other replicas that this one lives, and brings back what dead ones held.

use dripfeed_bucket::Replica;
use dripfeed_job::BucketName;
use tokio::time::{MissedTickBehavior, interval};

use crate::metrics::LaneMetrics;
use crate::outage::Outage;

/// Beats until this replica has itself been declared dead.
pub(crate) async fn until_fenced(replica: &Replica, bucket: &BucketName, metrics: &LaneMetrics) {
    let mut ticks = interval(replica.beat_interval());
    // After a pause the beats go on as before: catching up on those that were missed would tell the others nothing.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut outage = Outage::none_yet(bucket.clone(), "show that it lives");
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
