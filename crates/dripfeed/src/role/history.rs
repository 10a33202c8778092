//! The history is kept also where no processor runs: a bucket fills, and refuses.

use std::convert::Infallible;
use std::time::Duration;

use dripfeed_bucket::{Buckets, CallStats};
use tokio::time::{MissedTickBehavior, interval};

const EVERY: Duration = Duration::from_secs(2);

pub(super) async fn keep(buckets: &Buckets) -> Infallible {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        for (name, bucket) in buckets.all().iter() {
            if let Err(error) = bucket.sample_history(&CallStats::default()).await {
                // That Redis is away is reported by those who need it.
                tracing::debug!(bucket = %name, error = &error as &dyn std::error::Error, "The history wasn't kept");
            }
        }
    }
}
