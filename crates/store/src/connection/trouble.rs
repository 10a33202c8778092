//! What is logged of trouble that goes on: its beginning, one line a minute while it lasts, and its end. Where the last
//! line was its end, and it came back for some time, there is another line within the minute.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Between two lines.
const INTERVAL: Duration = Duration::from_secs(60);
/// Trouble that lasts this long is logged, whatever came shortly before it.
const LONG: Duration = Duration::from_secs(5);

/// Trouble that may come many times in a row. What comes a minute after the last time is new trouble.
#[derive(Debug, Default)]
pub struct Trouble(Mutex<Option<Course>>);

#[derive(Debug)]
struct Course {
    begun: Instant,
    last: Instant,
    reported: Instant,
    /// Times since then.
    times: u64,
    is_end_due: bool,
}

/// A line that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroubleReport {
    /// It begins.
    Begun,
    /// It came this many times since the last line.
    Lasts(u64),
}

impl Trouble {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Notes that it came. Some: a line is due.
    pub fn came(&self) -> Option<TroubleReport> {
        self.came_at(Instant::now(), Duration::ZERO)
    }

    /// Notes that it came, and has gone on for that long. Some: a line is due.
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

    /// Notes that it seems to be over. Whether a line is due: the first time after each line of [`Trouble::came`].
    pub fn seems_over(&self) -> bool {
        self.0.lock().as_mut().is_some_and(|course| std::mem::take(&mut course.is_end_due))
    }

    /// Notes that it is over. Some: it had come, for the first time so long ago.
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
