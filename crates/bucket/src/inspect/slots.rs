//! The number of concurrent calls that a bucket can use, for autoscaling.
//!
//! The level isn't suitable: jobs parked for a week would keep processors running, and 10,000 jobs at five calls a
//! second would start processors that only wait. By Little's law, a rate needs as many concurrent calls as it starts
//! within the duration of one.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::history::latency_sketch::Quantiles;
use crate::history::slot::HistorySlot;
use crate::history::window::HistoryWindow;
use crate::inspect::census::{Census, SOON};

/// The factor above the average that the rate needs, because calls come in bursts and vary in duration.
const HEADROOM: f64 = 1.2;
/// The assumed duration of a call if none was measured within a day.
const UNKNOWN_CALL: Duration = Duration::from_secs(1);
/// The number of buckets that are read concurrently.
const AT_ONCE: usize = 32;

/// The current demand for calls and processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// The number of concurrent calls. 0 if no job can be called and none is in flight.
    pub calls: u64,
    /// The number of processors for these calls.
    pub replicas: u64,
}

impl Slots {
    fn new(calls: u64, concurrency: u32) -> Self {
        Self { calls, replicas: calls.div_ceil(u64::from(concurrency.max(1))) }
    }

    /// Returns the maximum over the buckets, not the sum: each processor makes calls of all buckets concurrently.
    ///
    /// # Errors
    /// When one of them can't be read: without it, the numbers would be too small.
    pub async fn max_of(buckets: Vec<Bucket>) -> Result<Self, BucketError> {
        let mut buckets = stream::iter(buckets).map(Self::of).buffer_unordered(AT_ONCE);
        let mut most = Self::default();
        while let Some(slots) = buckets.try_next().await? {
            most = Self { calls: most.calls.max(slots.calls), replicas: most.replicas.max(slots.replicas) };
        }
        Ok(most)
    }

    /// The slots of one bucket; 0 if it was deleted or its key has another type. Such a bucket starts no calls, and the
    /// others still need their slots.
    async fn of(bucket: Bucket) -> Result<Self, BucketError> {
        let mut slots = bucket.slots().await;
        if matches!(slots, Err(BucketError::Gone)) {
            // Its deletion may be abandoned. Without processors nothing else may open it, and its jobs would wait.
            bucket.reopen_or_log().await;
            slots = bucket.slots().await;
        }
        match slots {
            Err(
                BucketError::Gone
                | BucketError::OtherKind { .. }
                | BucketError::ForeignType { .. }
                | BucketError::WrongTypes { .. },
            ) => Ok(Self::default()),
            slots => slots,
        }
    }
}

impl Bucket {
    /// Returns the concurrent calls that the bucket can use, for jobs that wait, are in flight, or are due within 30 s.
    /// At most what the rate, `max_in_flight`, and the limits of each caller allow. If the bucket may not make a call
    /// within 30 s, only the jobs in flight.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn slots(&self) -> Result<Slots, BucketError> {
        let census = self.census().await?;
        let effective = self.redis_bucket.effective_settings();
        let leak = &effective.settings.leak;
        let pace = &census.pace;
        let has_rate = pace.target.is_some() || effective.settings.fair.has_rate();
        let call = if has_rate && census.level > 1 { self.mean_call().await? } else { UNKNOWN_CALL };
        let throttled = self.redis_bucket.throttled_jobs(call.mul_f64(HEADROOM)).await?;
        let jobs = callable(&census, throttled).min(leak.max_in_flight.unwrap_or(u64::MAX));
        let calls = match pace.target.as_ref().filter(|_| jobs > 1) {
            None => jobs,
            Some(target) => {
                let rate = pace.effective_per_s.filter(|rate| *rate > 0.0).unwrap_or(target.per_second);
                jobs.min(under_way(rate, call))
            }
        };
        Ok(Slots::new(calls, leak.concurrency))
    }

    async fn mean_call(&self) -> Result<Duration, BucketError> {
        for window in [HistoryWindow::FiveMinutes, HistoryWindow::Day] {
            if let Some(mean) = mean(&self.history(window).await?.slots) {
                return Ok(mean);
            }
        }
        Ok(UNKNOWN_CALL)
    }
}

/// The jobs in flight, and those that can be called soon. Jobs claimed by dead replicas count, too, so that a processor
/// is started that recovers them.
///
/// `throttled`: the number of waiting jobs that can't be called soon because of the limits of their callers.
fn callable(census: &Census, throttled: u64) -> u64 {
    let pace = &census.pace;
    let stopped = matches!(pace.reason, "paused" | "dead_full" | "outbox_full");
    let waits = pace.throttled_for.unwrap_or_default().max(pace.next_call) > SOON;
    if stopped || waits {
        census.in_flight
    } else {
        census.in_flight + census.waiting.saturating_sub(throttled) + census.due_soon
    }
}

/// The number of calls in flight at this rate, at least one.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float becomes the nearest number")]
fn under_way(per_second: f64, call: Duration) -> u64 {
    ((HEADROOM * per_second * call.as_secs_f64()).ceil() as u64).max(1)
}

/// The mean duration of all calls of these slots, from their percentiles by linear interpolation; each call of the
/// faster half counts as p50. Returns `None` without calls.
fn mean(slots: &[HistorySlot]) -> Option<Duration> {
    let (mut calls, mut ms) = (0_u64, 0_u64);
    for slot in slots {
        if let Some(Quantiles { p50, p95, p99 }) = slot.attempt {
            let of_slot: u64 = slot.answers.iter().sum();
            let of_200_calls = 100 * p50 + 45 * (p50 + p95) + 4 * (p95 + p99) + 2 * p99;
            calls += of_slot;
            ms = ms.saturating_add(of_slot.saturating_mul(of_200_calls));
        }
    }
    (calls > 0).then(|| Duration::from_millis(ms.div_ceil(calls.saturating_mul(200))))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use crate::history::slot::OpenSlot;

    /// A slot with this number of calls, whose durations are all in this range of the sketch.
    fn slot(calls: u64, range: usize) -> HistorySlot {
        let text = format!("1 0 0 0 0 0 0 0 {calls} 0 0 0 0 0 0 0 0 1 0 0||{range} {calls}|");
        OpenSlot::read(&text).unwrap().shown(1, HistoryWindow::FiveMinutes)
    }

    #[test]
    fn calls_under_way_are_the_rate_times_their_length_and_a_fifth() {
        assert_eq!(under_way(100.0, Duration::from_millis(250)), 30);
        assert_eq!(under_way(5.0, Duration::from_millis(40)), 1);
        assert_eq!(under_way(0.001, Duration::ZERO), 1);
        assert_eq!(under_way(f64::MAX, Duration::from_secs(60)), u64::MAX);
    }

    #[test]
    fn the_mean_of_calls_weighs_slots_by_their_calls() {
        let (short, long) = (slot(30, 40), slot(10, 80));
        let ms = |slot: &HistorySlot| u128::from(slot.attempt.unwrap().p50);
        let expected = (30 * ms(&short) + 10 * ms(&long)).div_ceil(40);
        assert_eq!(mean(&[short, long]).unwrap().as_millis(), expected);
        assert_eq!(mean(&[slot(0, 40)]), None);
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn replicas_are_rounded_up() {
        let replicas = |calls| Slots::new(calls, 8).replicas;
        assert_eq!([0, 1, 8, 9].map(replicas), [0, 1, 1, 2]);
    }
}
