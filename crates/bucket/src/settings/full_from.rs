//! The size from which on the dead letters or the outbox are full, so that no jobs are taken.

use crate::settings::{BucketSettings, OnOutcome, WhenDeadFull};

/// Full from this many entries or this many bytes on. `None`: never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FullFrom(Option<(u64, u64)>);

impl FullFrom {
    pub(crate) fn is_reached(self, entries: u64, bytes: u64) -> bool {
        self.0.is_some_and(|(most, most_bytes)| entries >= most || bytes >= most_bytes)
    }

    /// An argument of a script. Empty: never.
    pub(crate) fn packed(self) -> String {
        self.0.map_or_else(String::new, |(entries, bytes)| format!("{entries} {bytes}"))
    }
}

impl BucketSettings {
    /// While the dead letters are full, no jobs are taken until letters are deleted or replayed.
    pub(crate) fn dead_full_from(&self) -> FullFrom {
        let keep = &self.keep;
        FullFrom((keep.when_dead_full == WhenDeadFull::Hold).then_some((keep.most_dead, keep.dead_bytes)))
    }

    /// While the outbox has no room for the outcome jobs of one more job, no jobs are taken.
    pub(crate) fn outbox_full_from(&self) -> FullFrom {
        let (to, of_one) = (&self.on_outcome, self.on_outcome.most_of_one());
        let bytes = of_one * OnOutcome::largest(self.keep.failed_answer_bytes);
        let full_from = ((to.most + 1).saturating_sub(of_one), (to.bytes + 1).saturating_sub(bytes));
        FullFrom((of_one > 0).then_some(full_from))
    }
}
