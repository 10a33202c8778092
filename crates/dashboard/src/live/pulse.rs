//! Current rates: computed over the last seconds from the counters of buckets. The rates of the API cover a longer
//! window, in which a burst is visible after it has ended.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;

use crate::model::bucket::{Bucket, Frame};

/// Frames that a rate is measured over.
const FRAMES: usize = 5;
/// Of a slow rate: which has no event in most of the shorter windows, and many in a few of them.
const MOST_FRAMES: usize = 30;
/// A rate with no more events than these in the shorter window is a slow one.
const FEW: u64 = 2;
/// A longer window ends before what has more events: these are of a burst that has ended.
const MANY: u64 = 15;

/// What buckets counted in the last frames.
#[derive(Default)]
pub struct Pulse {
    seen: HashMap<String, Seen>,
}

#[derive(Default)]
struct Seen {
    beats: VecDeque<Beat>,
    /// Before these it couldn't be read, and maybe no call was made.
    was_away: bool,
}

/// What a bucket had counted at a moment.
#[derive(Clone, Copy)]
struct Beat {
    at_ms: i64,
    accepted: u64,
    refused: u64,
    ended: u64,
    /// What limited its calls.
    effective_per_s: Option<f64>,
    has_processor: bool,
}

impl Pulse {
    /// Replaces the rates of a frame's buckets, once there is a frame before it.
    pub fn take(&mut self, frame: &mut Frame) {
        let Ok(at) = frame.at.parse::<Timestamp>() else { return };
        for name in &frame.unavailable {
            self.seen.insert(name.clone(), Seen { beats: VecDeque::new(), was_away: true });
        }
        for bucket in &mut frame.states {
            let beat = Beat::of(bucket, at.as_millisecond());
            let Seen { beats, was_away } = self.seen.entry(bucket.name.clone()).or_default();
            if !beats.is_empty() {
                frame.summary.subtract_rates(bucket);
                bucket.accepted_per_s = beat.rate(beats, |beat| beat.accepted);
                bucket.refused_per_s = beat.rate(beats, |beat| beat.refused);
                // Calls end in groups: in a second or two maybe none of many.
                if beats.len() >= FRAMES {
                    bucket.settled_per_s = beat.rate(beats, |beat| beat.ended);
                }
                frame.summary.add_rates(bucket);
            }
            bucket.is_changing = *was_away && beats.len() < FRAMES
                || beats.iter().rev().take(FRAMES).any(|earlier| earlier.differs(&beat));
            if beats.len() == MOST_FRAMES {
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
            effective_per_s: bucket.pace.effective_per_s,
            has_processor: bucket.alive() > 0,
        }
    }

    /// Where no rate is set, the effective one is measured and says nothing.
    fn differs(&self, later: &Self) -> bool {
        let rates = [self.effective_per_s, later.effective_per_s].map(|rate| rate.unwrap_or(0.0));
        self.has_processor != later.has_processor || rates[0].total_cmp(&rates[1]).is_ne()
    }

    /// Events per second of what `of` counts, up to this beat, which comes after others.
    fn rate(&self, beats: &VecDeque<Self>, of: fn(&Self) -> u64) -> f64 {
        let since = |first: &Self| of(self).saturating_sub(of(first));
        let per_second = |first: &Self| per_second(since(first), self.at_ms.saturating_sub(first.at_ms));
        let Some(short) = beats.iter().rev().take(FRAMES).next_back() else { return 0.0 };
        if since(short) > FEW {
            return per_second(short);
        }
        let long = beats.iter().rev().take_while(|first| since(first) <= MANY).last().unwrap_or(short);
        per_second(short).max(per_second(long))
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of seconds")]
fn per_second(events: u64, ms: i64) -> f64 {
    events as f64 * 1000.0 / ms.max(1) as f64
}
