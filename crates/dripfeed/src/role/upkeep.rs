//! Periodic work of an intake for every bucket, at a bounded rate of requests to Redis. Each round includes the buckets
//! that this intake has changed, and a few of the others: processors do the same work for busy buckets more often.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketError, Buckets};
use dripfeed_job::BucketName;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// The pause between two buckets.
const PAUSE: Duration = Duration::from_millis(10);
/// How many buckets a round includes even if this intake hasn't changed them.
const UNCHANGED_PER_ROUND: usize = 30;

/// Does some work for each bucket periodically.
pub(super) struct Upkeep {
    /// The log message for a bucket for which the work failed.
    failed: &'static str,
    /// The number of changes of each bucket at its last round.
    seen: BTreeMap<BucketName, u64>,
    /// The index of the first bucket that the next round includes in any case.
    next: usize,
}

impl Upkeep {
    pub(super) const fn new(failed: &'static str) -> Self {
        Self { failed, seen: BTreeMap::new(), next: 0 }
    }

    /// Does the work for each bucket that has changed, and for the next ones of the others, one after another. Passes
    /// its results to `done`.
    pub(super) async fn round<T>(
        &mut self,
        buckets: &Buckets,
        work: impl AsyncFn(&Bucket) -> Result<T, BucketError>,
        done: impl Fn(&Bucket, T),
    ) {
        let mut ticks = ticks();
        for bucket in self.due(&buckets.all()) {
            ticks.tick().await;
            // Boxed to keep the future of the role small.
            match Box::pin(work(&bucket)).await {
                Ok(result) => done(&bucket, result),
                // The connection logs that Redis is unreachable.
                Err(error) => tracing::debug!(bucket = %bucket.name(), error = &error as &dyn Error, "{}", self.failed),
            }
        }
    }

    fn due(&mut self, all: &BTreeMap<BucketName, Bucket>) -> Vec<Bucket> {
        self.seen.retain(|name, _| all.contains_key(name));
        let first = if self.next < all.len() { self.next } else { 0 };
        self.next = first + UNCHANGED_PER_ROUND;
        let included = first..self.next;
        let mut due = Vec::new();
        for (index, (name, bucket)) in all.iter().enumerate() {
            let changes = bucket.changes();
            let is_changed = changes != self.seen.get(name).copied().unwrap_or_default();
            if is_changed {
                self.seen.insert(name.clone(), changes);
            }
            if is_changed || included.contains(&index) {
                due.push(bucket.clone());
            }
        }
        due
    }
}

/// The first tick is immediate.
fn ticks() -> Interval {
    let mut ticks = interval(PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn many_are_visited_at_a_bounded_rate() {
        let (begun, mut ticks) = (Instant::now(), ticks());
        for _ in 0..=5 {
            ticks.tick().await;
        }
        assert!(begun.elapsed() >= 5 * PAUSE);
    }
}
