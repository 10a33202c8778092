//! A line of the log that would be repeated with each pass over the outbox.

use std::time::{Duration, Instant};

const BETWEEN_LINES: Duration = Duration::from_mins(1);

/// At most one line a minute.
#[derive(Default)]
pub(super) struct RareLine(Option<Instant>);

impl RareLine {
    /// Whether to write it now.
    pub(super) fn is_due(&mut self) -> bool {
        let is_due = self.0.is_none_or(|last| last.elapsed() >= BETWEEN_LINES);
        if is_due {
            self.0 = Some(Instant::now());
        }
        is_due
    }
}
