//! Limits each caller's concurrent requests to Redis: submissions and checks, and lookups of jobs. However many
//! requests a caller sends, the requests of others wait behind a bounded number of them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinError;

use crate::caller::LimitedCaller;

/// Concurrent jobs or checks of a caller: enough to keep Redis busy, and few enough for others to wait.
pub const SUBMISSIONS: u32 = 32;
/// Concurrent lookups of a caller. Few, as each may read a job of the maximum size.
pub const LOOKUPS: u32 = 4;
/// The bytes that cost Redis about as much as the fixed cost of a job.
const TURN_BYTES: usize = 16 * 1024;

/// The turns of all callers with current requests.
#[derive(Debug)]
pub struct CallerTurns {
    at_once: u32,
    turns: Arc<Mutex<Turns>>,
}

type Turns = HashMap<LimitedCaller, Arc<Semaphore>>;

impl CallerTurns {
    #[must_use]
    pub fn new(at_once: u32) -> Self {
        Self { at_once, turns: Arc::default() }
    }

    /// Waits for a turn for `jobs` jobs with `bytes` bytes together, in the order of the caller's requests. The turn
    /// ends when it is dropped.
    ///
    /// Batches and large jobs use at most half of the caller's permits, so that two can run at the same time. That
    /// suffices, as a batch goes to Redis in parts, which cost less per job.
    pub async fn take_for_jobs(&self, caller: LimitedCaller, jobs: usize, bytes: usize) -> Turn {
        let max = self.at_once / 2;
        let permits = u32::try_from(jobs.max(bytes / TURN_BYTES)).unwrap_or(max).min(max);
        self.take(caller, permits).await
    }

    /// Waits for a turn for one request.
    pub async fn take_one(&self, caller: LimitedCaller) -> Turn {
        self.take(caller, 1).await
    }

    /// Waits for a turn for one request, and runs `work` as [`Turn::run`] does.
    ///
    /// # Errors
    /// When `work` panics.
    pub async fn run<T: Send + 'static>(
        &self,
        caller: LimitedCaller,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, JoinError> {
        self.take_one(caller).await.run(work).await
    }

    async fn take(&self, caller: LimitedCaller, permits: u32) -> Turn {
        let semaphore = Arc::clone(
            self.turns.lock().entry(caller.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.at_once as usize))),
        );
        // Created before it waits, so that the entry is removed if the request is cancelled meanwhile.
        let mut turn = Turn { turns: Arc::clone(&self.turns), caller, permit: None };
        // Always `Some`, because the semaphore is never closed.
        turn.permit = semaphore.acquire_many_owned(permits).await.ok();
        turn
    }
}

#[derive(Debug)]
pub struct Turn {
    turns: Arc<Mutex<Turns>>,
    caller: LimitedCaller,
    permit: Option<OwnedSemaphorePermit>,
}

impl Turn {
    /// Returns whether this is the turn of a single small job or request.
    #[must_use]
    pub fn is_of_one(&self) -> bool {
        self.permit.as_ref().is_none_or(|permit| permit.num_permits() <= 1)
    }

    /// Runs `work` and then ends the turn. Both happen even if this future is dropped, because Redis executes sent
    /// requests in any case.
    ///
    /// # Errors
    /// When `work` panics.
    pub async fn run<T: Send + 'static>(self, work: impl Future<Output = T> + Send + 'static) -> Result<T, JoinError> {
        tokio::spawn(async move {
            let result = work.await;
            drop(self);
            result
        })
        .await
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut turns = self.turns.lock();
        // Releases the permits first, so that a waiting request gets them.
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
        let [acme, other] = ["acme", "other"].map(|caller| LimitedCaller::new(Some(caller), None));
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
        let acme = LimitedCaller::new(Some("acme"), None);
        let all = [(); 2].map(|()| turns.take_for_jobs(acme.clone(), 1, 1 << 20).now_or_never().unwrap());
        let mut waiting = Box::pin(turns.take_for_jobs(acme, 1, 0));
        assert!(waiting.as_mut().now_or_never().is_none());
        // It has its turn, and ends before it learns that.
        drop(all);
        drop(waiting);
        assert!(turns.turns.lock().is_empty());
    }

    #[tokio::test]
    async fn work_keeps_its_turn_when_its_caller_has_left() {
        let turns = CallerTurns::new(1);
        let acme = LimitedCaller::new(Some("acme"), None);
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let left = turns.run(acme.clone(), ended).now_or_never();
        assert!(left.is_none() && turns.take_one(acme.clone()).now_or_never().is_none());
        end.send(()).unwrap();
        drop(turns.take_one(acme).await);
    }
}
