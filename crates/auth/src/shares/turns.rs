//! Limits what one caller has in flight to Redis at a time: of submissions and checks, and of lookups of jobs. However
//! many requests it sends, those of others wait behind a bounded number of them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinError;

use crate::caller::Waiter;

/// Jobs or checks of one caller: enough to keep Redis busy, few enough to wait behind.
pub const SUBMISSIONS: u32 = 32;
/// Any of them may read a job of the largest size.
pub const LOOKUPS: u32 = 4;
/// Bytes of jobs that cost Redis about as much as a job of any size does anyway.
const TURN_BYTES: usize = 16 * 1024;

/// The turns of all callers that ask now.
#[derive(Debug)]
pub struct CallerTurns {
    at_once: u32,
    turns: Arc<Mutex<Turns>>,
}

type Turns = HashMap<Waiter, Arc<Semaphore>>;

impl CallerTurns {
    #[must_use]
    pub fn new(at_once: u32) -> Self {
        Self { at_once, turns: Arc::default() }
    }

    /// Waits for the turn of `jobs` with `bytes` together, in the order in which this caller asked. It lasts until it
    /// is dropped.
    ///
    /// Batches and large jobs take half of all turns at most, so that two are on their way: the jobs of a batch come to
    /// Redis in parts, which cost less for each.
    pub async fn take_for_jobs(&self, caller: Waiter, jobs: usize, bytes: usize) -> Turn {
        let most = self.at_once / 2;
        let many = u32::try_from(jobs.max(bytes / TURN_BYTES)).unwrap_or(most).min(most);
        self.take(caller, many).await
    }

    /// The same for one request.
    pub async fn take_one(&self, caller: Waiter) -> Turn {
        self.take(caller, 1).await
    }

    /// Does what has to have a turn of one request, as [`Turn::run`].
    ///
    /// # Errors
    /// When it panics.
    pub async fn run<T: Send + 'static>(
        &self,
        caller: Waiter,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, JoinError> {
        self.take_one(caller).await.run(work).await
    }

    async fn take(&self, caller: Waiter, many: u32) -> Turn {
        let semaphore = Arc::clone(
            self.turns.lock().entry(caller.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.at_once as usize))),
        );
        // Made before it waits, so that a request that ends meanwhile leaves nothing behind.
        let mut turn = Turn { turns: Arc::clone(&self.turns), caller, permit: None };
        // It is never closed.
        turn.permit = semaphore.acquire_many_owned(many).await.ok();
        turn
    }
}

#[derive(Debug)]
pub struct Turn {
    turns: Arc<Mutex<Turns>>,
    caller: Waiter,
    permit: Option<OwnedSemaphorePermit>,
}

impl Turn {
    /// Whether it is that of a single small job or request.
    #[must_use]
    pub fn is_of_one(&self) -> bool {
        self.permit.as_ref().is_none_or(|permit| permit.num_permits() <= 1)
    }

    /// Does what has to have this turn. That lasts until it is done, even if nobody waits for it any more: what was
    /// sent to Redis is done there in any case.
    ///
    /// # Errors
    /// When it panics.
    pub async fn run<T: Send + 'static>(self, work: impl Future<Output = T> + Send + 'static) -> Result<T, JoinError> {
        tokio::spawn(async move {
            let done = work.await;
            drop(self);
            done
        })
        .await
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut turns = self.turns.lock();
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
        let turns = CallerTurns::new(SUBMISSIONS);
        let [acme, other] = ["acme", "other"].map(|caller| Waiter::new(Some(caller), None));
        let batch = turns.take_for_jobs(acme.clone(), 1000, 0).now_or_never().unwrap();
        let jobs: Vec<_> = (0..16).map(|_| turns.take_for_jobs(acme.clone(), 1, 0).now_or_never().unwrap()).collect();
        let mut more = pin!(turns.take_for_jobs(acme, 1, 0));
        assert!(more.as_mut().now_or_never().is_none());
        let of_other = turns.take_for_jobs(other, 1, 0).now_or_never().unwrap();
        drop(batch);
        drop((more.now_or_never().unwrap(), jobs, of_other));
        assert!(turns.turns.lock().is_empty(), "a caller without a turn is forgotten");
    }

    #[test]
    fn a_request_that_ends_while_it_waits_leaves_nothing_behind() {
        let turns = CallerTurns::new(SUBMISSIONS);
        let acme = Waiter::new(Some("acme"), None);
        let all = [(); 2].map(|()| turns.take_for_jobs(acme.clone(), 1, 1 << 20).now_or_never().unwrap());
        let mut waiting = Box::pin(turns.take_for_jobs(acme, 1, 0));
        assert!(waiting.as_mut().now_or_never().is_none());
        // It has its turn, and ends before it learns that.
        drop(all);
        drop(waiting);
        assert!(turns.turns.lock().is_empty());
    }

    #[tokio::test]
    async fn what_was_begun_keeps_its_turn_when_nobody_waits_any_more() {
        let turns = CallerTurns::new(1);
        let acme = Waiter::new(Some("acme"), None);
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let left = turns.run(acme.clone(), ended).now_or_never();
        assert!(left.is_none() && turns.take_one(acme.clone()).now_or_never().is_none());
        end.send(()).unwrap();
        drop(turns.take_one(acme).await);
    }
}
