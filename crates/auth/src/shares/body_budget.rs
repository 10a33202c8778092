//! Limits the memory for bodies of requests and of unread responses, for all callers together and for each caller.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::caller_counts::CallerCounts;
use crate::caller::LimitedCaller;

/// A budget of bytes for bodies.
#[derive(Debug)]
pub struct BodyBudget {
    bytes: Arc<Semaphore>,
    most: usize,
    most_of_one: usize,
    by_caller: Arc<Mutex<CallerCounts>>,
}

impl BodyBudget {
    /// Creates a budget of `bytes`, of which each caller may use half, but always enough for a body of `largest` bytes.
    #[must_use]
    pub fn new(bytes: u64, largest: u64) -> Self {
        let usize_of = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let most = usize_of(bytes).min(Semaphore::MAX_PERMITS);
        Self {
            bytes: Arc::new(Semaphore::new(most)),
            most,
            most_of_one: usize_of(largest.max(bytes / 2)),
            by_caller: Arc::default(),
        }
    }

    /// Reserves bytes until the permit is dropped. Returns `None` if the budget has no room.
    #[must_use]
    pub fn reserve(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.bytes).try_acquire_many_owned(u32::try_from(bytes).ok()?).ok()
    }

    /// Reserves the bytes of a response until the reservation is dropped. A response that is larger than the caller's
    /// part reserves the whole part, so a single one always fits. Returns `None` if the budget or the caller's part has
    /// no room.
    #[must_use]
    pub fn reserve_response(&self, caller: LimitedCaller, bytes: usize) -> Option<BodyReservation> {
        let bytes = bytes.min(self.most_of_one).min(self.most);
        let mut share = self.share_of(caller);
        share.add(bytes)?;
        Some(BodyReservation { _permit: self.reserve(bytes)?, _share: share })
    }

    /// Begins a reservation in the caller's part, to which [`BodyShare::add`] adds bytes.
    #[must_use]
    pub fn share_of(&self, caller: LimitedCaller) -> BodyShare {
        BodyShare { most: self.most_of_one, by_caller: Arc::clone(&self.by_caller), caller, bytes: 0 }
    }
}

/// Reserved bytes of a response, until dropped.
#[derive(Debug)]
pub struct BodyReservation {
    _permit: OwnedSemaphorePermit,
    _share: BodyShare,
}

/// Reserved bytes of a caller's part, until dropped.
#[derive(Debug)]
pub struct BodyShare {
    most: usize,
    by_caller: Arc<Mutex<CallerCounts>>,
    caller: LimitedCaller,
    bytes: usize,
}

impl BodyShare {
    /// Reserves further bytes. Returns `None` if the caller's part has no room.
    pub fn add(&mut self, bytes: usize) -> Option<()> {
        let is_added = self.by_caller.lock().add(&self.caller, bytes, self.most);
        is_added.then(|| self.bytes += bytes)
    }
}

impl Drop for BodyShare {
    fn drop(&mut self) {
        self.by_caller.lock().subtract(&self.caller, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_gets_half_and_others_theirs() {
        let budget = BodyBudget::new(100, 10);
        let [mut acme, mut other] =
            ["acme", "other"].map(|caller| budget.share_of(LimitedCaller::new(Some(caller), None)));
        assert_eq!((acme.add(30), acme.add(20), acme.add(1), other.add(50)), (Some(()), Some(()), None, Some(())));
        drop((acme, other));
        assert!(budget.by_caller.lock().is_empty(), "a caller without a body is forgotten");
    }

    #[test]
    fn a_large_response_takes_all_of_its_callers_part() {
        let budget = BodyBudget::new(100, 10);
        let [acme, other] = ["acme", "other"].map(|caller| LimitedCaller::new(Some(caller), None));
        let large = budget.reserve_response(acme.clone(), 1000);
        assert!(large.is_some() && budget.reserve_response(acme.clone(), 1).is_none());
        let beside = budget.reserve_response(other, 50);
        assert!(beside.is_some() && budget.reserve(1).is_none());
        drop((large, beside));
        assert!(budget.reserve_response(acme, 50).is_some() && budget.by_caller.lock().is_empty());
    }

    #[test]
    fn a_caller_has_room_for_one_body_in_any_case() {
        let mut share = BodyBudget::new(100, 80).share_of(LimitedCaller::new(Some("acme"), None));
        assert_eq!(share.add(80), Some(()));
    }
}
