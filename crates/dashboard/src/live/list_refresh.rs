//! Decides when a live page reads a list again: after the counts of its bucket have changed, and from time to time.

use std::sync::Arc;
use std::time::Instant;

use futures::lock::Mutex;
use jiff::{SignedDuration, Timestamp};

use crate::model::bucket::{Bucket, Totals};

/// Some changes of a list, such as another attempt of a job, change no count.
const AT_LEAST_EVERY: SignedDuration = SignedDuration::from_secs(10);
/// After a read, the list isn't read for ten times as long as that took: a filter that few jobs match may be slow.
const REST: i32 = 10;

/// When a list was read, by the times of frames, and the counts of its bucket then.
#[derive(Clone, Default)]
pub(crate) struct ListRefresh(Arc<Mutex<Option<Known>>>);

struct Known {
    counts: Counts,
    at: Timestamp,
    rest: SignedDuration,
}

/// The counts that change when a job is added, removed, or changes its state.
#[derive(PartialEq)]
struct Counts {
    now: [u64; 9],
    totals: Totals,
}

impl ListRefresh {
    /// Reads the list with the first frame, and with later ones if the counts have changed. `None` if it needn't be
    /// read.
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
        let started = Instant::now();
        let list = read.await;
        let took = SignedDuration::try_from(started.elapsed()).unwrap_or(AT_LEAST_EVERY);
        *known = list.is_ok().then(|| Known { counts, at, rest: took.saturating_mul(REST) });
        list.ok()
    }
}

impl Known {
    fn is_current(&self, counts: &Counts, at: Timestamp) -> bool {
        is_within(self.rest, self.at, at) || (self.counts == *counts && is_recent(self.at, at))
    }
}

/// Whether data of `then` needn't be read again now if no change of it is known.
pub(crate) fn is_recent(then: Timestamp, now: Timestamp) -> bool {
    is_within(AT_LEAST_EVERY, then, now)
}

/// False if the clock was set back.
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
