//! Counters that are no longer known here, because too many are, with what Redis wasn't reported of them yet.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::replica::counted_scope::CountedScope;

/// While Redis is away they must not fill the memory: of more, what was counted is lost.
pub(super) const MOST: usize = 100_000;
/// From this number on they are reported at once; not before, because each report looks at all that are known.
const MANY: usize = 10_000;

#[derive(Clone, Debug, Default)]
pub(super) struct Evicted(Arc<Mutex<Vec<Arc<Mutex<CountedScope>>>>>);

impl Evicted {
    /// Keeps a counter if there is something to report.
    pub(super) fn keep(&self, counted: Arc<Mutex<CountedScope>>) {
        if counted.lock().unreported.calls == 0 {
            return;
        }
        let mut evicted = self.0.lock();
        if evicted.len() < MOST {
            evicted.push(counted);
        }
    }

    pub(super) fn take(&self) -> Vec<Arc<Mutex<CountedScope>>> {
        std::mem::take(&mut *self.0.lock())
    }

    /// Whether they are to be reported at once.
    pub(super) fn are_many(&self) -> bool {
        self.0.lock().len() >= MANY
    }
}
