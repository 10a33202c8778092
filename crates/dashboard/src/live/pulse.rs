//! Current rates: computed over the last seconds from the counters of buckets. The rates of the API cover a longer
//! window, in which a burst is visible after it has ended.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;

use crate::model::bucket::{Bucket, Frame};

/// Frames that a rate is measured over.
const FRAMES: usize = 5;

/// What buckets counted in the last frames.
#[derive(Default)]
pub struct Pulse {
    seen: HashMap<String, VecDeque<Beat>>,
}

/// What a bucket had counted at a moment.
#[derive(Clone, Copy)]
struct Beat {
    at_ms: i64,
    accepted: u64,
    refused: u64,
    ended: u64,
}

impl Pulse {
    /// Replaces the rates of a frame's buckets, once there is a frame before it.
    pub fn take(&mut self, frame: &mut Frame) {
        let Ok(at) = frame.at.parse::<Timestamp>() else { return };
        for bucket in &mut frame.states {
            let beat = Beat::of(bucket, at.as_millisecond());
            let beats = self.seen.entry(bucket.name.clone()).or_default();
            if let Some(first) = beats.front() {
                frame.summary.subtract_rates(bucket);
                beat.since(*first, bucket);
                frame.summary.add_rates(bucket);
            }
            if beats.len() == FRAMES {
                beats.pop_front();
            }
            beats.push_back(beat);
        }
    }
}

impl Beat {
    fn of(bucket: &Bucket, at_ms: i64) -> Self {
        let totals = &bucket.totals;
        Self {
            at_ms,
            accepted: totals.accepted,
            refused: totals.refused.values().sum(),
            ended: totals.ended.values().sum(),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of seconds")]
    fn since(self, first: Self, bucket: &mut Bucket) {
        let seconds = (self.at_ms.saturating_sub(first.at_ms)).max(1) as f64 / 1000.0;
        let rate = |now: u64, then: u64| now.saturating_sub(then) as f64 / seconds;
        bucket.accepted_per_s = rate(self.accepted, first.accepted);
        bucket.refused_per_s = rate(self.refused, first.refused);
        bucket.settled_per_s = rate(self.ended, first.ended);
    }
}
