//! Limits the submissions and checks of one caller that are in flight to Redis at a time. However many it sends,
//! requests of others wait behind a bounded number of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::shares::Waiter;

/// Jobs or checks of one caller: enough to keep Redis busy, few enough to wait behind.
const AT_ONCE: u32 = 32;
/// What a batch takes of them at most, and a large job, so that two are on their way: the jobs of a batch come to Redis
/// in parts, which cost less for each.
const MOST: u32 = AT_ONCE / 2;
/// Bytes of jobs that cost Redis about as much as a job of any size does anyway.
const TURN_BYTES: usize = 16 * 1024;

/// The turns of all callers that ask now.
#[derive(Default)]
pub(crate) struct CallerTurns(Arc<Mutex<Turns>>);

type Turns = HashMap<Waiter, Arc<Semaphore>>;

impl CallerTurns {
    /// Waits for the turn of `many` jobs with `bytes` together, or of a check, in the order in which this caller asked.
    /// It lasts until it is dropped.
    pub(crate) async fn take(&self, caller: Waiter, many: usize, bytes: usize) -> Turn {
        let many = u32::try_from(many.max(bytes / TURN_BYTES)).unwrap_or(MOST).min(MOST);
        let semaphore = Arc::clone(
            locked(&self.0).entry(caller.clone()).or_insert_with(|| Arc::new(Semaphore::new(AT_ONCE as usize))),
        );
        // Made before it waits, so that a request that ends meanwhile leaves nothing behind.
        let mut turn = Turn { turns: Arc::clone(&self.0), caller, permit: None };
        // It is never closed.
        turn.permit = semaphore.acquire_many_owned(many).await.ok();
        turn
    }
}

fn locked(turns: &Mutex<Turns>) -> MutexGuard<'_, Turns> {
    turns.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) struct Turn {
    turns: Arc<Mutex<Turns>>,
    caller: Waiter,
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut turns = locked(&self.turns);
        // Gives it to who waits, if anybody does.
        self.permit = None;
        if turns.get(&self.caller).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            turns.remove(&self.caller);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::pin::pin;

    use futures::FutureExt as _;

    use super::*;

    #[test]
    fn a_caller_has_a_bounded_number_at_once_and_others_have_theirs() {
        let turns = CallerTurns::default();
        let [acme, other] = ["acme", "other"].map(|caller| Waiter::new(Some(caller), None));
        let batch = turns.take(acme.clone(), 1000, 0).now_or_never().unwrap();
        let jobs: Vec<_> = (0..16).map(|_| turns.take(acme.clone(), 1, 0).now_or_never().unwrap()).collect();
        let mut more = pin!(turns.take(acme, 1, 0));
        assert!(more.as_mut().now_or_never().is_none());
        let of_other = turns.take(other, 1, 0).now_or_never().unwrap();
        drop(batch);
        drop((more.now_or_never().unwrap(), jobs, of_other));
        assert!(locked(&turns.0).is_empty(), "a caller without a turn is forgotten");
    }

    #[test]
    fn a_request_that_ends_while_it_waits_leaves_nothing_behind() {
        let turns = CallerTurns::default();
        let acme = Waiter::new(Some("acme"), None);
        let all = [(); 2].map(|()| turns.take(acme.clone(), 1, 1 << 20).now_or_never().unwrap());
        let mut waiting = Box::pin(turns.take(acme, 1, 0));
        assert!(waiting.as_mut().now_or_never().is_none());
        // It has its turn, and ends before it learns that.
        drop(all);
        drop(waiting);
        assert!(locked(&turns.0).is_empty());
    }
}
