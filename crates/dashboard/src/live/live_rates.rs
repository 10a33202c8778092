//! Computes current rates from the counters of buckets over the last seconds. The rates of the API cover a longer
//! window, so they still show a burst that has ended.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;

use crate::model::bucket::{Bucket, Frame};

/// The window of a rate, in frames, which come each second.
const FRAMES: usize = 5;
/// The window of a slow rate, for which most short windows contain no event.
const MOST_FRAMES: usize = 30;
/// A rate is slow if the short window has at most this many events.
const FEW: u64 = 2;
/// The long window is shortened so that it has at most this many events, as more of them belong to a burst that has
/// ended.
const MANY: u64 = 15;

/// The counters of buckets in the last frames.
#[derive(Default)]
pub struct LiveRates {
    seen: HashMap<String, Seen>,
}

#[derive(Default)]
struct Seen {
    beats: VecDeque<Beat>,
    /// Whether the bucket couldn't be read before these frames, so that perhaps no call was made.
    was_away: bool,
}

/// The counters of a bucket in one frame.
#[derive(Clone, Copy)]
struct Beat {
    at_ms: i64,
    accepted: u64,
    refused: u64,
    ended: u64,
    /// The effective rate, which limits its calls.
    effective_per_s: Option<f64>,
    has_processor: bool,
}

impl LiveRates {
    /// Replaces the rates of a frame's buckets, from the second frame on.
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
                // Calls end in groups, so that a shorter window may contain none.
                if beats.len() >= FRAMES {
                    bucket.settled_per_s = beat.rate(beats, |beat| beat.ended);
                }
                frame.summary.add_rates(bucket);
            }
            let window = beats.iter().rev().take(FRAMES).map(Beat::in_force_per_s);
            let lowest = window.fold(beat.in_force_per_s(), f64::min);
            bucket.lowest_per_s = Some(if *was_away && beats.len() < FRAMES { 0.0 } else { lowest });
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

    /// The rate that limits its calls; 0 without a processor, or if there is no limit to compare with.
    fn in_force_per_s(&self) -> f64 {
        self.effective_per_s.filter(|_| self.has_processor).unwrap_or(0.0)
    }

    /// The rate of the counter `of` between `beats` and this later one, per second.
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
