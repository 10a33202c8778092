//! Periodic work of an intake for every bucket. However many buckets there are, it asks Redis at a bounded rate: of
//! those that this intake has nothing to do with, a few in each round. What is busy elsewhere has processors that do
//! the same more often.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketError, Buckets};
use dripfeed_job::BucketName;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// Between two buckets.
const APART: Duration = Duration::from_millis(10);
/// Of those that this intake has not changed since the last round, what a round has.
const QUIET_PER_ROUND: usize = 30;

/// Work that is done for each bucket, periodically.
pub(super) struct Upkeep {
    /// What is logged of a bucket for which it failed.
    failed: &'static str,
    /// Of each bucket, how often it had been changed when that was last seen.
    seen: BTreeMap<BucketName, u64>,
    /// How many come before the first quiet one of the next round.
    next: usize,
}

impl Upkeep {
    pub(super) const fn new(failed: &'static str) -> Self {
        Self { failed, seen: BTreeMap::new(), next: 0 }
    }

    /// Once for each bucket that has been changed, and for the next ones of the others, one after the other. `done`
    /// gets what comes of it.
    pub(super) async fn round<T>(
        &mut self,
        buckets: &Buckets,
        work: impl AsyncFn(&Bucket) -> Result<T, BucketError>,
        done: impl Fn(&Bucket, T),
    ) {
        let mut turns = turns();
        for bucket in self.due(&buckets.all()) {
            turns.tick().await;
            // Boxed: it would make the future of the role a large one.
            match Box::pin(work(&bucket)).await {
                Ok(result) => done(&bucket, result),
                // That Redis is away is reported by those who need it.
                Err(error) => tracing::debug!(bucket = %bucket.name(), error = &error as &dyn Error, "{}", self.failed),
            }
        }
    }

    fn due(&mut self, all: &BTreeMap<BucketName, Bucket>) -> Vec<Bucket> {
        self.seen.retain(|name, _| all.contains_key(name));
        let first = if self.next < all.len() { self.next } else { 0 };
        self.next = first + QUIET_PER_ROUND;
        let turn = first..self.next;
        let mut due = Vec::new();
        for (at, (name, bucket)) in all.iter().enumerate() {
            let changes = bucket.changes();
            let is_changed = changes != self.seen.get(name).copied().unwrap_or_default();
            if is_changed {
                self.seen.insert(name.clone(), changes);
            }
            if is_changed || turn.contains(&at) {
                due.push(bucket.clone());
            }
        }
        due
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
