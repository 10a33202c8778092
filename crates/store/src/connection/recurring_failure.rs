//! Decides when to log a failure that recurs: at its beginning, once a minute while it lasts, and at its end. If it
//! comes back for some time after its end was logged, there is another line within the minute.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The time between two lines.
const INTERVAL: Duration = Duration::from_secs(60);
/// A failure that recurs for this long is logged within the minute.
const LONG: Duration = Duration::from_secs(5);

/// A failure that may occur many times in a row. After a minute without it, the next one is considered new.
#[derive(Debug, Default)]
pub struct RecurringFailure(Mutex<Option<Occurrences>>);

#[derive(Debug)]
struct Occurrences {
    begun: Instant,
    last: Instant,
    reported: Instant,
    /// How often it occurred since `reported`.
    times: u64,
    /// Whether its end is to be logged.
    is_end_due: bool,
}

/// A line that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReport {
    /// The failure has begun.
    Begun,
    /// The failure occurred this many times since the last line.
    Lasts(u64),
}

impl RecurringFailure {
    /// Creates the state before the first failure.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Notes that the failure occurred. Returns the line to log, if one is due.
    pub fn occurred(&self) -> Option<FailureReport> {
        self.occurred_at(Instant::now(), Duration::ZERO)
    }

    /// Notes that the failure occurred, and has lasted for this long. Returns the line to log, if one is due.
    pub fn occurred_for(&self, lasted: Duration) -> Option<FailureReport> {
        self.occurred_at(Instant::now(), lasted)
    }

    fn occurred_at(&self, now: Instant, lasted: Duration) -> Option<FailureReport> {
        let mut occurrences = self.0.lock();
        let Some(known) = occurrences.as_mut().filter(|known| now.duration_since(known.last) < INTERVAL) else {
            *occurrences = Some(Occurrences { begun: now, last: now, reported: now, times: 0, is_end_due: true });
            return Some(FailureReport::Begun);
        };
        known.last = now;
        known.times += 1;
        let since = now.duration_since(known.reported);
        let is_back_for_long = !known.is_end_due && lasted.min(since) >= LONG;
        if since < INTERVAL && !is_back_for_long {
            return None;
        }
        (known.reported, known.is_end_due) = (now, true);
        Some(FailureReport::Lasts(std::mem::take(&mut known.times)))
    }

    /// Notes that the failure seems to be over. Returns whether to log that, which is once after each line of
    /// [`RecurringFailure::occurred`].
    pub fn recovered(&self) -> bool {
        self.0.lock().as_mut().is_some_and(|occurrences| std::mem::take(&mut occurrences.is_end_due))
    }

    /// Notes that the failure is over. Returns how long ago it began, if there was any.
    pub fn ended(&self) -> Option<Duration> {
        self.0.lock().take().map(|occurrences| occurrences.begun.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lasting_failure_is_logged_once_a_minute() {
        let (failure, begun) = (RecurringFailure::new(), Instant::now());
        let occurred = |seconds| failure.occurred_at(begun + Duration::from_secs(seconds), Duration::ZERO);
        assert_eq!([0, 1, 59].map(occurred), [Some(FailureReport::Begun), None, None]);
        assert_eq!([60, 61, 119].map(occurred), [Some(FailureReport::Lasts(3)), None, None]);
        assert_eq!([180].map(occurred), [Some(FailureReport::Begun)], "it seemed to be over");
        assert!(failure.ended().is_some());
        assert_eq!((failure.ended(), occurred(181)), (None, Some(FailureReport::Begun)));
    }

    #[tokio::test]
    async fn the_end_is_logged_once_after_each_line() {
        let (failure, begun) = (RecurringFailure::new(), Instant::now());
        assert!(!failure.recovered());
        for seconds in (0..120).step_by(2) {
            let is_reported = failure.occurred_at(begun + Duration::from_secs(seconds), Duration::ZERO).is_some();
            assert_eq!((is_reported, failure.recovered()), (seconds % 60 == 0, seconds % 60 == 0), "{seconds}");
        }
    }

    #[tokio::test]
    async fn a_failure_that_is_back_for_5_s_is_logged_within_the_minute_and_so_is_its_end() {
        let (failure, begun) = (RecurringFailure::new(), Instant::now());
        let occurred =
            |second, lasted| failure.occurred_at(begun + Duration::from_secs(second), Duration::from_secs(lasted));
        assert_eq!((occurred(0, 0), occurred(6, 6)), (Some(FailureReport::Begun), None), "it goes on");
        assert!(failure.recovered());
        assert_eq!([occurred(7, 0), occurred(11, 4)], [None, None]);
        assert_eq!((occurred(12, 5), occurred(13, 6)), (Some(FailureReport::Lasts(4)), None));
        assert!(failure.recovered());
        assert_eq!(
            (occurred(16, 9), occurred(17, 10)),
            (None, Some(FailureReport::Lasts(3))),
            "few lines where some end it"
        );
    }
}
