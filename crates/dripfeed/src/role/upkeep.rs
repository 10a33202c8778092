//! Periodic work of an intake for every bucket. However many buckets there are, it asks Redis at a bounded rate: a
//! round over ten thousand takes a hundred seconds. What is busy has processors that do the same more often.

use std::error::Error;
use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketError, Buckets};
use tokio::time::{Interval, MissedTickBehavior, interval};

/// Between two buckets.
const APART: Duration = Duration::from_millis(10);

/// Once for each bucket, one after the other. `failed`: what is logged of one for which it failed.
pub(super) async fn for_each<T>(
    buckets: &Buckets,
    failed: &'static str,
    work: impl AsyncFn(&Bucket) -> Result<T, BucketError>,
) {
    let mut turns = turns();
    for (name, bucket) in buckets.all().iter() {
        turns.tick().await;
        // Boxed: it would make the future of the role a large one.
        if let Err(error) = Box::pin(work(bucket)).await {
            // That Redis is away is reported by those who need it.
            tracing::debug!(bucket = %name, error = &error as &dyn Error, "{failed}");
        }
    }
}

/// The first bucket's is at once.
fn turns() -> Interval {
    let mut turns = interval(APART);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    turns
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn many_are_visited_at_a_bounded_rate() {
        let (begun, mut turns) = (Instant::now(), turns());
        for _ in 0..=5 {
            turns.tick().await;
        }
        assert!(begun.elapsed() >= 5 * APART);
    }
}
