//! Counters that were evicted from memory before their last calls were reported.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::replica::counted_scope::CountedScope;

/// Maximum number while Redis is unavailable, to bound the memory; the counts of further ones are lost.
pub(super) const MOST: usize = 100_000;
/// From this number they are reported at once. Not from a lower one, because each report iterates over all counters.
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

    /// Whether they should be reported at once.
    pub(super) fn are_many(&self) -> bool {
        self.0.lock().len() >= MANY
    }
}
