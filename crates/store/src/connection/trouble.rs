//! What is logged of trouble that goes on: its beginning, one line a minute while it lasts, and its end.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Between two lines.
const INTERVAL: Duration = Duration::from_secs(60);

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
        self.came_at(Instant::now())
    }

    fn came_at(&self, now: Instant) -> Option<TroubleReport> {
        let mut course = self.0.lock();
        let Some(known) = course.as_mut().filter(|known| now.duration_since(known.last) < INTERVAL) else {
            *course = Some(Course { begun: now, last: now, reported: now, times: 0, is_end_due: true });
            return Some(TroubleReport::Begun);
        };
        known.last = now;
        known.times += 1;
        if now.duration_since(known.reported) < INTERVAL {
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
        let came = |seconds| trouble.came_at(begun + Duration::from_secs(seconds));
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
            let is_reported = trouble.came_at(begun + Duration::from_secs(seconds)).is_some();
            assert_eq!((is_reported, trouble.seems_over()), (seconds % 60 == 0, seconds % 60 == 0), "{seconds}");
        }
    }
}
