//! One line for many failures: what every request meets while something is wrong must not fill the log.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two lines.
const PAUSE: Duration = Duration::from_secs(1);

/// Lines of one kind, at most one a second.
#[derive(Debug)]
pub(crate) struct Rarely(Mutex<Told>);

#[derive(Debug)]
struct Told {
    last: Option<Instant>,
    untold: u64,
}

impl Rarely {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Told { last: None, untold: 0 }))
    }

    /// How many were passed over since the last line, when it is time for the next one.
    pub(crate) fn due(&self, now: Instant) -> Option<u64> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if told.last.is_some_and(|last| now.saturating_duration_since(last) < PAUSE) {
            told.untold += 1;
            return None;
        }
        told.last = Some(now);
        Some(std::mem::take(&mut told.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_failures_are_one_line_a_second_that_counts_them() {
        let (lines, begin) = (Rarely::new(), Instant::now());
        let due = |ms| lines.due(begin + Duration::from_millis(ms));
        assert_eq!([0, 1, 999, 1000, 1500, 2000].map(due), [Some(0), None, None, Some(2), None, Some(1)]);
    }
}
