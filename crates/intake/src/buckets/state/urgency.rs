//! How urgently a bucket needs an operator.

use super::BucketState;
use super::row::rounded;

/// A throttle that is longer than this is worth a look.
const LONG_HOLD_MS: u64 = 5 * 60_000;
const NEARLY_FULL_PERCENT: u64 = 90;

/// What needs an operator in one bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Urgency {
    /// Its jobs or outcome jobs stand still, or are refused.
    pub(crate) problems: usize,
    /// They may be soon.
    pub(crate) warnings: usize,
}

impl BucketState {
    pub(crate) fn urgency(&self) -> Urgency {
        let is_nearly_full = self.level.saturating_mul(100) >= self.capacity.saturating_mul(NEARLY_FULL_PERCENT);
        let refuses = is_nearly_full && rounded(self.refused_per_s) > 0.0;
        let problems = [
            matches!(self.pace.reason, "dead_full" | "outbox_full"),
            self.outbox_oversized > 0,
            self.replicas.is_empty() && self.level > 0,
            refuses,
        ];
        let warnings = [
            self.paused && self.level > 0,
            self.pace.held_for_ms.is_some_and(|ms| ms > LONG_HOLD_MS),
            is_nearly_full && !refuses,
            self.dead > 0,
        ];
        let count = |found: &[bool]| found.iter().filter(|found| **found).count();
        Urgency { problems: count(&problems), warnings: count(&warnings) }
    }
}
