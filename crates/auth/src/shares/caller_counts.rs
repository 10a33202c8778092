//! Counts each caller's use of a limited resource.

use std::collections::HashMap;

use crate::caller::LimitedCaller;

/// The counts of the callers. Those of 0 are removed.
#[derive(Debug, Default)]
pub(crate) struct CallerCounts(HashMap<LimitedCaller, usize>);

impl CallerCounts {
    /// Adds `more` to the caller's count, unless it would exceed `most`. Returns whether it was added.
    pub(crate) fn add(&mut self, caller: &LimitedCaller, more: usize, most: usize) -> bool {
        let count = self.0.get(caller).copied().unwrap_or(0) + more;
        if count > most {
            return false;
        }
        self.0.insert(caller.clone(), count);
        true
    }

    pub(crate) fn subtract(&mut self, caller: &LimitedCaller, less: usize) {
        if let Some(count) = self.0.get_mut(caller) {
            *count -= less;
            if *count == 0 {
                self.0.remove(caller);
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
