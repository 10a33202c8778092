//! At most one log line a second for a failure that every request may meet.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Between two lines.
const INTERVAL: Duration = Duration::from_secs(1);

/// Throttles one kind of log line.
#[derive(Debug)]
pub struct LogThrottle(Mutex<Lines>);

#[derive(Debug)]
struct Lines {
    last: Option<Instant>,
    suppressed: u64,
}

impl LogThrottle {
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(Lines { last: None, suppressed: 0 }))
    }

    /// Some when a line is due: the number of lines suppressed since the last one.
    pub fn due(&self, now: Instant) -> Option<u64> {
        let mut lines = self.0.lock();
        if lines.last.is_some_and(|last| now.saturating_duration_since(last) < INTERVAL) {
            lines.suppressed += 1;
            return None;
        }
        lines.last = Some(now);
        Some(std::mem::take(&mut lines.suppressed))
    }
}

impl Default for LogThrottle {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_one_line_a_second_which_counts_the_suppressed_ones() {
        let (throttle, begin) = (LogThrottle::new(), Instant::now());
        let due = |ms| throttle.due(begin + Duration::from_millis(ms));
        assert_eq!([0, 1, 999, 1000, 1500, 2000].map(due), [Some(0), None, None, Some(2), None, Some(1)]);
    }
}
