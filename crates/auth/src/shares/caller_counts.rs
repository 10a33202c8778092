//! What each caller holds of something that is limited per caller.

use std::collections::HashMap;

use crate::caller::Waiter;

/// A caller that holds nothing is forgotten.
#[derive(Debug, Default)]
pub(crate) struct CallerCounts(HashMap<Waiter, usize>);

impl CallerCounts {
    /// Whether the caller holds that much more now: not if it would hold more than `most`.
    pub(crate) fn add(&mut self, caller: &Waiter, more: usize, most: usize) -> bool {
        let held = self.0.get(caller).copied().unwrap_or(0) + more;
        if held > most {
            return false;
        }
        self.0.insert(caller.clone(), held);
        true
    }

    pub(crate) fn subtract(&mut self, caller: &Waiter, less: usize) {
        if let Some(held) = self.0.get_mut(caller) {
            *held -= less;
            if *held == 0 {
                self.0.remove(caller);
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
