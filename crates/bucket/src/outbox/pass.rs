//! A pass over the outbox, which begins at its first entry and takes one or several rounds.

use std::time::{Duration, Instant};

/// Time until a pass is whole again. Other passes end when all configured targets are without room, and so may not
/// reach jobs for targets of earlier settings, or of the settings of another process.
const BETWEEN_WHOLE: Duration = Duration::from_secs(15);

#[derive(Default)]
pub(super) struct Pass {
    /// Whether this pass has found a target that this process doesn't know.
    has_unknown: bool,
    is_whole: bool,
    /// When the last whole pass began.
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

    /// Whether this pass continues to the last entry even if no target has room.
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
