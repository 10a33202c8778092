//! A pass over the outbox, from its first entry on, in as many rounds as it takes.

use std::time::{Duration, Instant};

/// At least this often all is looked at, though all targets that the settings have are without room: earlier settings,
/// or those of another process, have others.
const BETWEEN_WHOLE: Duration = Duration::from_secs(15);

#[derive(Default)]
pub(super) struct Pass {
    /// Whether it has found a target that this process doesn't know.
    has_unknown: bool,
    is_whole: bool,
    /// When the last whole one began.
    whole: Option<Instant>,
}

impl Pass {
    pub(super) fn begin(&mut self) {
        self.has_unknown = false;
        self.is_whole = self.whole.is_none_or(|begun| begun.elapsed() >= BETWEEN_WHOLE);
        if self.is_whole {
            self.whole = Some(Instant::now());
        }
    }

    /// Whether it goes to the last entry in any case.
    pub(super) const fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub(super) const fn note_unknown(&mut self, is_unknown: bool) {
        self.has_unknown |= is_unknown;
    }

    pub(super) const fn has_unknown(&self) -> bool {
        self.has_unknown
    }
}
