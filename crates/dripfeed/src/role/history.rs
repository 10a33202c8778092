//! Records the history of buckets in intakes, too, so that it is complete while no processor runs.

use std::convert::Infallible;
use std::time::Duration;

use dripfeed_bucket::{Bucket, Buckets, CallStats};
use tokio::time::{MissedTickBehavior, interval};

use super::upkeep::Upkeep;

const EVERY: Duration = Duration::from_secs(2);

pub(super) async fn keep(buckets: &Buckets) -> Infallible {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut upkeep = Upkeep::new("could not record the history of buckets");
    loop {
        ticks.tick().await;
        let sample = async |bucket: &Bucket| bucket.sample_history(&CallStats::default()).await;
        Box::pin(upkeep.round(buckets, sample, |_, ()| {})).await;
    }
}
