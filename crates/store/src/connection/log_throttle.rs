//! Limits log lines that every request or job may cause to a few per second.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

const INTERVAL: Duration = Duration::from_secs(1);

/// Throttles one kind of log line.
#[derive(Debug)]
pub struct LogThrottle {
    most: u32,
    lines: Mutex<Lines>,
}

#[derive(Debug)]
struct Lines {
    /// When the first line of the current interval was written.
    first: Option<Instant>,
    written: u32,
    suppressed: u64,
}

impl LogThrottle {
    /// Allows one line a second.
    #[must_use]
    pub const fn new() -> Self {
        Self::of(1)
    }

    /// Allows `most` lines within a second after the first of them.
    #[must_use]
    pub const fn of(most: u32) -> Self {
        Self { most, lines: Mutex::new(Lines { first: None, written: 0, suppressed: 0 }) }
    }

    /// Returns the number of lines suppressed since the last one if a line is due, otherwise `None`.
    pub fn due(&self, now: Instant) -> Option<u64> {
        let mut lines = self.lines.lock();
        if lines.first.is_none_or(|first| now.saturating_duration_since(first) >= INTERVAL) {
            (lines.first, lines.written) = (Some(now), 0);
        }
        if lines.written >= self.most {
            lines.suppressed += 1;
            return None;
        }
        lines.written += 1;
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

    /// What is due at each of these times, in ms.
    fn due<const N: usize>(throttle: &LogThrottle, ms: [u64; N]) -> [Option<u64>; N] {
        let begin = Instant::now();
        ms.map(|ms| throttle.due(begin + Duration::from_millis(ms)))
    }

    #[test]
    fn at_most_one_line_a_second_which_counts_the_suppressed_ones() {
        let lines = due(&LogThrottle::new(), [0, 1, 999, 1000, 1500, 2000]);
        assert_eq!(lines, [Some(0), None, None, Some(2), None, Some(1)]);
    }

    #[test]
    fn some_lines_at_once_and_no_more_of_them_within_a_second() {
        let lines = due(&LogThrottle::of(2), [0, 900, 999, 1000, 1001, 1002, 2000]);
        assert_eq!(lines, [Some(0), Some(0), None, Some(1), Some(0), None, Some(1)]);
    }
}
