//! The callers with the most refusals in each bucket, by limit, since this intake started.

use std::collections::HashMap;
use std::sync::Arc;

use dripfeed_job::BucketName;
use parking_lot::Mutex;

/// Maximum number of counters of a bucket, one per caller and limit.
const MAX_COUNTERS: usize = 32;

/// How often a caller was refused by a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefusedCaller {
    pub(crate) caller: String,
    /// The id of a policy, `max_share`, or the problem code if no limit of the caller refused.
    pub(crate) limit: String,
    pub(crate) refused: u64,
}

/// Cheap to clone; clones share their counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct RefusedCallers(Arc<Mutex<HashMap<BucketName, Vec<RefusedCaller>>>>);

impl RefusedCallers {
    /// If all counters are in use, the caller takes over the lowest counter with its count. So the most refused callers
    /// always have a counter, whose value is too high by at most the count taken over.
    pub(crate) fn count(&self, bucket: &BucketName, caller: &str, limit: &str) {
        let mut counts = self.0.lock();
        let of_bucket = match counts.get_mut(bucket) {
            Some(of_bucket) => of_bucket,
            None => counts.entry(bucket.clone()).or_default(),
        };
        if let Some(known) = of_bucket.iter_mut().find(|known| known.caller == caller && known.limit == limit) {
            known.refused += 1;
            return;
        }
        let counter = |refused| RefusedCaller { caller: caller.to_owned(), limit: limit.to_owned(), refused };
        if of_bucket.len() < MAX_COUNTERS {
            of_bucket.push(counter(1));
        } else if let Some(lowest) = of_bucket.iter_mut().min_by_key(|known| known.refused) {
            *lowest = counter(lowest.refused + 1);
        }
    }

    /// Returns the counters of one bucket, most refusals first.
    pub(crate) fn of(&self, bucket: &BucketName) -> Vec<RefusedCaller> {
        let mut found = self.0.lock().get(bucket).cloned().unwrap_or_default();
        found.sort_by(|a, b| (b.refused, &a.caller, &a.limit).cmp(&(a.refused, &b.caller, &b.limit)));
        found
    }

    pub(crate) fn forget(&self, bucket: &BucketName) {
        self.0.lock().remove(bucket);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

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
        let known = refused.of(&bucket);
        assert_eq!((known.len(), known[0].caller.as_str()), (MAX_COUNTERS, "flood"));
        assert!((100..200).contains(&known[0].refused), "{known:?}");
        refused.forget(&bucket);
        assert_eq!(refused.of(&bucket), []);
    }
}
