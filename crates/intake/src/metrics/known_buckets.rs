//! The latest known state of the buckets. If there are many, a scrape reads only those that have jobs or had some
//! lately; the idle ones are read slowly in the background, one after the other.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::time::{Duration, Instant};

use dripfeed_bucket::Bucket;
use dripfeed_job::BucketName;

use super::bucket_sample::BucketSample;
use super::bucket_series::ShownBucket;

/// Up to this number of buckets, every scrape reads and shows all of them in full.
const FEW: usize = 1000;
/// For this time after its last job, a bucket is still read and shown in full, so that graphs end at zero and show the
/// outcomes of its last jobs.
const LATELY: Duration = Duration::from_mins(5);

type AllBuckets = BTreeMap<BucketName, Bucket>;

#[derive(Default)]
pub(super) struct KnownBuckets {
    known: BTreeMap<BucketName, Known>,
    /// The idle bucket that was read last.
    last_idle: Option<BucketName>,
}

struct Known {
    /// `None` while the bucket is being read, and after it couldn't be read: no stale value is shown.
    sample: Option<BucketSample>,
    /// Differs if the bucket was deleted and created again under the same name.
    incarnation: Option<u64>,
    /// When the bucket last had jobs.
    busy: Option<Instant>,
}

impl Known {
    fn was_busy_lately(&self, now: Instant) -> bool {
        self.busy.is_some_and(|busy| now.duration_since(busy) < LATELY)
    }
}

pub(super) fn are_many(buckets: &AllBuckets) -> bool {
    buckets.len() > FEW
}

impl KnownBuckets {
    /// Forgets all buckets but these.
    pub(super) fn keep(&mut self, buckets: &AllBuckets) {
        self.known
            .retain(|name, known| buckets.get(name).is_some_and(|bucket| bucket.incarnation() == known.incarnation));
    }

    /// Whether a scrape is to read the bucket. If so, its state is unknown until it is read.
    pub(super) fn begin_reading(&mut self, bucket: &Bucket, has_jobs: bool, now: Instant) -> bool {
        let known = self.of(bucket);
        if has_jobs {
            known.busy = Some(now);
        }
        let reads = known.sample.is_none() || known.was_busy_lately(now);
        if reads {
            known.sample = None;
        }
        reads
    }

    /// Stores the state of a bucket, or that it couldn't be read (`None`).
    pub(super) fn note(&mut self, bucket: &Bucket, sample: Option<BucketSample>, now: Instant) {
        let known = self.of(bucket);
        if sample.as_ref().is_some_and(BucketSample::is_busy) {
            known.busy = Some(now);
        }
        known.sample = sample;
    }

    fn of(&mut self, bucket: &Bucket) -> &mut Known {
        let new = || Known { sample: None, incarnation: bucket.incarnation(), busy: None };
        self.known.entry(bucket.name().clone()).or_insert_with(new)
    }

    /// The idle bucket to read next.
    pub(super) fn next_idle(&mut self, now: Instant) -> Option<BucketName> {
        let after = self.last_idle.take().map_or(Unbounded, Excluded);
        let mut in_turn = self.known.range((after, Unbounded)).chain(&self.known);
        let (next, _) = in_turn.find(|(_, known)| !known.was_busy_lately(now))?;
        self.last_idle = Some(next.clone());
        self.last_idle.clone()
    }

    pub(super) fn shown(&self, buckets: &AllBuckets, now: Instant) -> Vec<ShownBucket> {
        let many = are_many(buckets);
        let shown = self.known.iter().filter_map(|(name, known)| {
            let at_rest = many && !known.was_busy_lately(now);
            let sample = known.sample.as_ref().filter(|sample| !at_rest || !sample.is_empty())?;
            Some(ShownBucket { name: name.clone(), sample: sample.clone(), at_rest })
        });
        shown.collect()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use dripfeed_tests::buckets;
    use dripfeed_tests::redis_server::TestRedis;

    use super::*;

    #[tokio::test]
    async fn a_bucket_that_has_had_no_job_for_a_while_is_at_rest_and_read_in_turn() {
        let store = TestRedis::start().await.store().await;
        let bucket = |number| Bucket::new(store.clone(), buckets::settings(&format!("b{number:04}")));
        let all: AllBuckets = (0..=FEW).map(bucket).map(|bucket| (bucket.name().clone(), bucket)).collect();
        let (mut known, begun) = (KnownBuckets::default(), Instant::now());
        let usual = BucketSample { pace_reason: "no_rate", ..BucketSample::default() };
        for bucket in all.values() {
            assert!(known.begin_reading(bucket, false, begun), "nothing is known of it");
            known.note(bucket, Some(usual.clone()), begun);
        }
        assert!(known.shown(&all, begun).is_empty());

        let busy = all.values().next().unwrap();
        assert!(known.begin_reading(busy, true, begun));
        known.note(busy, Some(usual.clone()), begun);
        let soon = begun + LATELY / 2;
        assert!(known.begin_reading(busy, false, soon), "what became of its jobs");
        assert!(known.shown(&all, soon).is_empty(), "it is being read");
        known.note(busy, Some(usual), soon);
        let shown = known.shown(&all, soon);
        assert!(matches!(&shown[..], [of] if of.name == *busy.name() && !of.at_rest));
        let in_turn = [(); 3].map(|()| known.next_idle(soon).unwrap());
        assert_eq!(in_turn.each_ref().map(BucketName::as_str), ["b0001", "b0002", "b0003"]);

        let late = begun + LATELY;
        assert!(!known.begin_reading(busy, false, late));
        assert!(known.shown(&all, late).is_empty());
        let last = (0..FEW - 3).filter_map(|_| known.next_idle(late)).last().unwrap();
        assert_eq!((last.as_str(), known.next_idle(late).unwrap().as_str()), ("b1000", "b0000"));
    }
}
