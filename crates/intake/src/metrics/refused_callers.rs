//! Refused submissions by caller and limit that aren't yet added to the counts that all intakes share in Redis.

use std::collections::HashMap;
use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketError, Buckets, MAX_REFUSAL_COUNTERS, Refusals};
use dripfeed_job::BucketName;
use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval, sleep};

const EVERY: Duration = Duration::from_secs(1);
/// The pause between two buckets.
const PAUSE: Duration = Duration::from_millis(10);

/// Cheap to clone; clones share their counts.
#[derive(Clone, Debug, Default)]
pub(super) struct RefusedCallers(Arc<Mutex<HashMap<BucketName, Vec<Refusals>>>>);

impl RefusedCallers {
    pub(super) fn count(&self, bucket: &BucketName, caller: &str, limit: &str) {
        self.add(bucket, Refusals { caller: caller.to_owned(), limit: limit.to_owned(), refused: 1 });
    }

    /// If all counters are in use, the caller takes over the lowest counter with its count. So the most refused callers
    /// always have a counter, whose value is too high by at most the count taken over.
    fn add(&self, bucket: &BucketName, new: Refusals) {
        let mut counts = self.0.lock();
        let of_bucket = match counts.get_mut(bucket) {
            Some(of_bucket) => of_bucket,
            None => counts.entry(bucket.clone()).or_default(),
        };
        if let Some(known) = of_bucket.iter_mut().find(|known| known.caller == new.caller && known.limit == new.limit) {
            known.refused += new.refused;
        } else if of_bucket.len() < MAX_REFUSAL_COUNTERS {
            of_bucket.push(new);
        } else if let Some(lowest) = of_bucket.iter_mut().min_by_key(|known| known.refused) {
            *lowest = Refusals { refused: lowest.refused + new.refused, ..new };
        }
    }

    /// Adds the refusals of this intake to those of all, and returns these: of the current hour and the one before,
    /// most refusals first.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time. What was certainly not added is kept.
    pub(super) async fn share(&self, bucket: &Bucket) -> Result<Vec<Refusals>, BucketError> {
        let own = self.0.lock().remove(bucket.name()).unwrap_or_default();
        let shared = bucket.add_refusals(&own).await;
        let is_lost = match &shared {
            Ok(shared) => shared.are_added,
            Err(error) => error.may_be_done(),
        };
        if !is_lost {
            own.into_iter().for_each(|kept| self.add(bucket.name(), kept));
        }
        shared.map(|shared| shared.counts)
    }

    /// Shares all refusals every second.
    pub(super) async fn keep_sharing(&self, buckets: &Buckets) -> Infallible {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let names: Vec<BucketName> = self.0.lock().keys().cloned().collect();
            for name in names {
                // Boxed to keep the future of the role small.
                Box::pin(self.share_of(&name, buckets)).await;
                sleep(PAUSE).await;
            }
        }
    }

    async fn share_of(&self, name: &BucketName, buckets: &Buckets) {
        let Some(bucket) = buckets.get(name.as_str()) else { return self.forget(name) };
        // The connection logs that Redis is unreachable.
        if let Err(error) = self.share(&bucket).await {
            tracing::debug!(bucket = %name, error = &error as &dyn Error, "could not share refusals");
        }
    }

    pub(super) fn forget(&self, bucket: &BucketName) {
        self.0.lock().remove(bucket);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use dripfeed_tests::buckets;
    use dripfeed_tests::redis_server::TestRedis;

    use super::*;

    #[test]
    fn of_more_callers_than_counters_those_with_the_most_refusals_are_known() {
        let (refused, bucket) = (RefusedCallers::default(), "b".parse().unwrap());
        for round in 0..100 {
            refused.count(&bucket, "flood", "each");
            for other in 0..10 {
                refused.count(&bucket, &format!("{round}-{other}"), "each");
            }
        }
        let known = refused.0.lock().remove(&bucket).unwrap();
        assert_eq!(known.len(), MAX_REFUSAL_COUNTERS);
        let flood = known.iter().max_by_key(|known| known.refused).unwrap();
        assert!(flood.caller == "flood" && (100..200).contains(&flood.refused), "{known:?}");
    }

    #[tokio::test]
    async fn what_redis_did_not_take_is_kept_and_shared_later() {
        let redis = TestRedis::start().await;
        let bucket = Bucket::new(redis.store().await, buckets::settings("b"));
        let refused = RefusedCallers::default();
        let max_memory = async |bytes: u64| {
            let store = redis.store().await;
            store.command::<()>(redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg(bytes)).await.unwrap();
        };
        max_memory(1).await;
        refused.count(bucket.name(), "flood", "each");
        let once = Refusals { caller: "flood".to_owned(), limit: "each".to_owned(), refused: 1 };
        assert_eq!(refused.share(&bucket).await.unwrap(), std::slice::from_ref(&once), "it is shown all the same");
        max_memory(0).await;
        refused.count(bucket.name(), "flood", "each");
        let twice = [Refusals { refused: 2, ..once }];
        assert_eq!(refused.share(&bucket).await.unwrap(), twice);
        assert_eq!(refused.share(&bucket).await.unwrap(), twice, "nothing is added again");
    }
}
