//! Limits requests that stay open (`Prefer: wait`, event streams), because each occupies a connection.

use std::sync::Arc;

use parking_lot::Mutex;

use super::caller_counts::CallerCounts;
use crate::caller::LimitedCaller;

#[derive(Debug)]
pub struct WaitLimit {
    most: usize,
    most_per_caller: usize,
    now: Arc<Mutex<WaitCounts>>,
}

#[derive(Debug, Default)]
struct WaitCounts {
    all: usize,
    by_caller: CallerCounts,
}

impl WaitLimit {
    #[must_use]
    pub fn new(most: usize, most_per_caller: usize) -> Self {
        Self { most, most_per_caller, now: Arc::default() }
    }

    /// Returns `None` if the caller, or all callers together, are at the limit.
    pub fn enter(&self, waiter: LimitedCaller) -> Option<WaitPermit> {
        let mut now = self.now.lock();
        if now.all >= self.most || !now.by_caller.add(&waiter, 1, self.most_per_caller) {
            return None;
        }
        now.all += 1;
        Some(WaitPermit { now: Arc::clone(&self.now), waiter })
    }
}

/// Counts as one wait until it is dropped.
#[derive(Debug)]
pub struct WaitPermit {
    now: Arc<Mutex<WaitCounts>>,
    waiter: LimitedCaller,
}

impl Drop for WaitPermit {
    fn drop(&mut self) {
        let mut now = self.now.lock();
        now.all = now.all.saturating_sub(1);
        now.by_caller.subtract(&self.waiter, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_limited_per_caller_and_in_total() {
        let waits = WaitLimit::new(3, 2);
        let [acme, other] = ["acme", "other"].map(|caller| LimitedCaller::new(Some(caller), None));
        let first = waits.enter(acme.clone());
        let second = waits.enter(acme.clone());
        assert!(first.is_some() && second.is_some() && waits.enter(acme.clone()).is_none());
        let third = waits.enter(other.clone());
        assert!(third.is_some() && waits.enter(other).is_none());
        drop(first);
        assert!(waits.enter(acme).is_some());
        drop((second, third));
        assert!(waits.now.lock().by_caller.is_empty() && waits.now.lock().all == 0);
    }
}
