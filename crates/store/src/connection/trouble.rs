//! Decides when to log trouble that goes on: at its beginning, once a minute while it lasts, and at its end. If it
//! comes back for some time after its end was logged, there is another line within the minute.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The time between two lines.
const INTERVAL: Duration = Duration::from_secs(60);
/// Trouble that is back for this long is logged within the minute.
const LONG: Duration = Duration::from_secs(5);

/// Trouble that may occur many times in a row. After a minute without it, it is considered new.
#[derive(Debug, Default)]
pub struct Trouble(Mutex<Option<Course>>);

#[derive(Debug)]
struct Course {
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
pub enum TroubleReport {
    /// The trouble has begun.
    Begun,
    /// The trouble occurred this many times since the last line.
    Lasts(u64),
}

impl Trouble {
    /// No trouble so far.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Notes that the trouble occurred. Returns the line to log, if one is due.
    pub fn came(&self) -> Option<TroubleReport> {
        self.came_at(Instant::now(), Duration::ZERO)
    }

    /// Notes that the trouble occurred, and has lasted for this long. Returns the line to log, if one is due.
    pub fn goes_on(&self, lasted: Duration) -> Option<TroubleReport> {
        self.came_at(Instant::now(), lasted)
    }

    fn came_at(&self, now: Instant, lasted: Duration) -> Option<TroubleReport> {
        let mut course = self.0.lock();
        let Some(known) = course.as_mut().filter(|known| now.duration_since(known.last) < INTERVAL) else {
            *course = Some(Course { begun: now, last: now, reported: now, times: 0, is_end_due: true });
            return Some(TroubleReport::Begun);
        };
        known.last = now;
        known.times += 1;
        let since = now.duration_since(known.reported);
        let is_back_for_long = !known.is_end_due && lasted.min(since) >= LONG;
        if since < INTERVAL && !is_back_for_long {
            return None;
        }
        (known.reported, known.is_end_due) = (now, true);
        Some(TroubleReport::Lasts(std::mem::take(&mut known.times)))
    }

    /// Notes that the trouble seems to be over. Returns whether to log that, which is once after each line of
    /// [`Trouble::came`].
    pub fn seems_over(&self) -> bool {
        self.0.lock().as_mut().is_some_and(|course| std::mem::take(&mut course.is_end_due))
    }

    /// Notes that the trouble is over. Returns how long ago it began, if there was any.
    pub fn is_over(&self) -> Option<Duration> {
        self.0.lock().take().map(|course| course.begun.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_goes_on_is_reported_once_a_minute() {
        let (trouble, begun) = (Trouble::new(), Instant::now());
        let came = |seconds| trouble.came_at(begun + Duration::from_secs(seconds), Duration::ZERO);
        assert_eq!([0, 1, 59].map(came), [Some(TroubleReport::Begun), None, None]);
        assert_eq!([60, 61, 119].map(came), [Some(TroubleReport::Lasts(3)), None, None]);
        assert_eq!([180].map(came), [Some(TroubleReport::Begun)], "it seemed to be over");
        assert!(trouble.is_over().is_some());
        assert_eq!((trouble.is_over(), came(181)), (None, Some(TroubleReport::Begun)));
    }

    #[tokio::test]
    async fn each_line_has_one_end() {
        let (trouble, begun) = (Trouble::new(), Instant::now());
        assert!(!trouble.seems_over());
        for seconds in (0..120).step_by(2) {
            let is_reported = trouble.came_at(begun + Duration::from_secs(seconds), Duration::ZERO).is_some();
            assert_eq!((is_reported, trouble.seems_over()), (seconds % 60 == 0, seconds % 60 == 0), "{seconds}");
        }
    }

    #[tokio::test]
    async fn what_is_back_for_long_is_reported_within_the_minute_and_so_is_its_end() {
        let (trouble, begun) = (Trouble::new(), Instant::now());
        let came = |second, lasted| trouble.came_at(begun + Duration::from_secs(second), Duration::from_secs(lasted));
        assert_eq!((came(0, 0), came(6, 6)), (Some(TroubleReport::Begun), None), "it goes on");
        assert!(trouble.seems_over());
        assert_eq!([came(7, 0), came(11, 4)], [None, None]);
        assert_eq!((came(12, 5), came(13, 6)), (Some(TroubleReport::Lasts(4)), None));
        assert!(trouble.seems_over());
        assert_eq!((came(16, 9), came(17, 10)), (None, Some(TroubleReport::Lasts(3))), "few lines where some end it");
    }
}
