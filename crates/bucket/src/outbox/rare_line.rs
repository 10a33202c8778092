//! Limits how often a log line is written that each pass over the outbox would repeat.

use std::time::{Duration, Instant};

const BETWEEN_LINES: Duration = Duration::from_mins(1);

/// Allows one line a minute.
#[derive(Default)]
pub(super) struct RareLine(Option<Instant>);

impl RareLine {
    /// Returns whether to write the line now.
    pub(super) fn is_due(&mut self) -> bool {
        let is_due = self.0.is_none_or(|last| last.elapsed() >= BETWEEN_LINES);
        if is_due {
            self.0 = Some(Instant::now());
        }
        is_due
    }
}
