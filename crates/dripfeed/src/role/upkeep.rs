//! Periodic work of an intake for every bucket. However many buckets there are, it asks Redis at a bounded rate: a round
//! over ten thousand takes a hundred seconds. What is busy has processors that do the same more often.

use std::error::Error;
use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketError, Buckets};
use tokio::time::{MissedTickBehavior, interval};

/// Between two buckets.
const APART: Duration = Duration::from_millis(10);

/// Once for each bucket, one after the other. `failed`: what is logged of one for which it failed.
pub(super) async fn for_each<T>(
    buckets: &Buckets,
    failed: &'static str,
    work: impl AsyncFn(&Bucket) -> Result<T, BucketError>,
) {
    let on_one = async |(name, bucket): (_, &Bucket)| {
        // Boxed: it would make the future of the role a large one.
        if let Err(error) = Box::pin(work(bucket)).await {
            // That Redis is away is reported by those who need it.
            tracing::debug!(bucket = %name, error = &error as &dyn Error, "{failed}");
        }
    };
    apart(buckets.all().iter(), on_one).await;
}

async fn apart<T>(all: impl Iterator<Item = T>, on_one: impl AsyncFn(T)) {
    let mut ticks = interval(APART);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for one in all {
        ticks.tick().await;
        on_one(one).await;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_are_visited_at_a_bounded_rate() {
        let (begun, visited) = (Instant::now(), Cell::new(0));
        apart(0..201, async |_| visited.set(visited.get() + 1)).await;
        assert_eq!((visited.get(), begun.elapsed()), (201, 200 * APART));
    }
}
