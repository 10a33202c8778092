//! Lists beside the frames: read again after the counts of their bucket changed, and for a small part of the time.

use std::sync::Arc;
use std::time::Instant;

use futures::lock::Mutex;
use jiff::{SignedDuration, Timestamp};

use crate::model::bucket::{Bucket, Totals};

/// Some of what a list shows is in no count: that a job was tried once more.
const AT_LEAST_EVERY: SignedDuration = SignedDuration::from_secs(10);
/// A list that takes long to read, of rare matches among many jobs, is read a tenth of the time.
const REST: i32 = 10;

/// When a list was read, by the times of frames, and what its bucket counted then.
#[derive(Clone, Default)]
pub(crate) struct Reread(Arc<Mutex<Option<Known>>>);

struct Known {
    counts: Counts,
    at: Timestamp,
    rest: SignedDuration,
}

/// What differs once a job came, went or changed its state.
#[derive(PartialEq)]
struct Counts {
    now: [u64; 9],
    totals: Totals,
}

impl Reread {
    /// With the first frame, and with later ones of another count. None: the list stays as it was read.
    pub(crate) async fn with<T, E>(
        &self,
        at: &str,
        bucket: &Bucket,
        read: impl Future<Output = Result<T, E>>,
    ) -> Option<T> {
        let mut known = self.0.lock().await;
        let (counts, at) = (Counts::of(bucket), at.parse::<Timestamp>().ok()?);
        if known.as_ref().is_some_and(|known| known.is_current(&counts, at)) {
            return None;
        }
        let begun = Instant::now();
        let list = read.await;
        let took = SignedDuration::try_from(begun.elapsed()).unwrap_or(AT_LEAST_EVERY);
        *known = list.is_ok().then(|| Known { counts, at, rest: took.saturating_mul(REST) });
        list.ok()
    }
}

impl Known {
    fn is_current(&self, counts: &Counts, at: Timestamp) -> bool {
        is_within(self.rest, self.at, at) || (self.counts == *counts && is_recent(self.at, at))
    }
}

/// Whether what was read then is shown now without being read again, unless it is seen that it has changed.
pub(crate) fn is_recent(then: Timestamp, now: Timestamp) -> bool {
    is_within(AT_LEAST_EVERY, then, now)
}

/// A clock that was set back begins again.
fn is_within(most: SignedDuration, then: Timestamp, now: Timestamp) -> bool {
    (SignedDuration::ZERO..most).contains(&now.duration_since(then))
}

impl Counts {
    fn of(bucket: &Bucket) -> Self {
        let Bucket { level, bytes, capacity, capacity_bytes, waiting, in_flight, parked, dead, dead_bytes, .. } =
            bucket;
        let of = [level, bytes, capacity, capacity_bytes, waiting, in_flight, parked, dead, dead_bytes];
        Self { now: of.map(|count| *count), totals: bucket.totals.clone() }
    }
}
