//! Delays large requests, so that small ones get most of Redis' time. Redis processes one request at a time, and one of
//! 1 MiB takes milliseconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

/// How long after a small request further ones are expected.
const RECENT: Duration = Duration::from_millis(100);
/// The rest after a large request is as long as the request took; while small requests arrive, bytes / UNIT times that.
/// The delay of other requests grows with the square of a request's time, so with these rests few large requests delay
/// others no more than many small ones do.
const UNIT: usize = 64 * 1024;
const LONGEST_REST: Duration = Duration::from_millis(250);

/// Schedules the large requests to one server.
#[derive(Debug)]
pub(crate) struct LargeRequests {
    since: Instant,
    /// The time from `since` to the latest small request, in ms.
    small_ms: AtomicU64,
    /// When the next large request may be made.
    next: Mutex<Instant>,
}

impl Default for LargeRequests {
    fn default() -> Self {
        let since = Instant::now();
        Self { since, small_ms: AtomicU64::new(0), next: Mutex::new(since) }
    }
}

impl LargeRequests {
    pub(crate) fn note_small(&self) {
        self.note_small_at(Instant::now());
    }

    fn note_small_at(&self, now: Instant) {
        self.small_ms.store(self.ms_until(now), Ordering::Relaxed);
    }

    /// Waits until a large request may be made. The returned turn must be dropped at its end.
    pub(crate) async fn turn(self: Arc<Self>, bytes: usize) -> LargeTurn {
        loop {
            let (next, begun) = (*self.next.lock(), Instant::now());
            if next <= begun {
                return LargeTurn { requests: self, bytes, begun };
            }
            sleep_until(next).await;
        }
    }

    /// Waits after a request whose size wasn't known before.
    pub(crate) async fn rest(&self, bytes: usize, took: Duration) {
        let now = Instant::now();
        self.rest_from(now, bytes, took);
        let end = *self.next.lock();
        sleep_until(end.min(now + LONGEST_REST)).await;
    }

    /// Adds a rest after the one that is planned, if any: the rests of concurrent requests follow each other.
    fn rest_from(&self, now: Instant, bytes: usize, took: Duration) {
        let quiet_ms = self.ms_until(now).saturating_sub(self.small_ms.load(Ordering::Relaxed));
        let is_alone = u128::from(quiet_ms) > RECENT.as_millis();
        let times = if is_alone { 1 } else { u32::try_from(bytes / UNIT).unwrap_or(u32::MAX).max(1) };
        let mut next = self.next.lock();
        *next = (*next).max(now) + took.saturating_mul(times).min(LONGEST_REST);
    }

    fn ms_until(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.since).as_millis()).unwrap_or(u64::MAX)
    }
}

/// The turn of a large request. When dropped, the rest begins.
#[derive(Debug)]
pub struct LargeTurn {
    requests: Arc<LargeRequests>,
    bytes: usize,
    begun: Instant,
}

impl Drop for LargeTurn {
    fn drop(&mut self) {
        self.requests.rest_from(Instant::now(), self.bytes, self.begun.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOK: Duration = Duration::from_millis(5);

    /// The rest after a request that ends now, the latest small one having been made `quiet` before.
    fn rest_after(bytes: usize, quiet: Duration) -> Duration {
        let requests = LargeRequests::default();
        let small = requests.since + RECENT;
        requests.note_small_at(small);
        requests.rest_from(small + quiet, bytes, TOOK);
        requests.next.lock().duration_since(small + quiet)
    }

    #[test]
    fn large_requests_leave_as_much_time_as_they_took() {
        assert_eq!(rest_after(16 * UNIT, 2 * RECENT), TOOK);
    }

    #[test]
    fn beside_small_requests_they_leave_more_the_larger_they_are() {
        for (bytes, times) in [(UNIT / 2, 1), (UNIT, 1), (4 * UNIT, 4), (16 * UNIT, 16)] {
            assert_eq!(rest_after(bytes, RECENT), TOOK * times);
        }
        assert_eq!(rest_after(usize::MAX, RECENT), LONGEST_REST);
    }

    #[test]
    fn the_rests_of_those_made_at_once_follow_each_other() {
        let requests = LargeRequests::default();
        for _ in 0..2 {
            requests.rest_from(requests.since, UNIT, TOOK);
        }
        assert_eq!(requests.next.lock().duration_since(requests.since), 2 * TOOK);
    }

    #[tokio::test]
    async fn no_large_request_is_made_during_a_rest() {
        let requests = Arc::new(LargeRequests::default());
        requests.rest_from(Instant::now(), UNIT, TOOK);
        let rested = *requests.next.lock();
        assert!(requests.turn(UNIT).await.begun >= rested);
    }
}
