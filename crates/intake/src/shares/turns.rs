//! Limits the requests of one caller that are in flight to Redis at a time. However many it sends, requests of others
//! wait behind a bounded number of them. Large ones go one at a time, and beside other callers with a rest between two
//! of them.

mod recent_callers;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};

use self::recent_callers::RecentCallers;
use crate::shares::Waiter;

/// Jobs or checks of one caller: enough to keep Redis busy, few enough to wait behind.
const AT_ONCE: u32 = 32;
/// What a batch takes of them at most, so that two are on their way: the jobs of a batch come to Redis in parts, which
/// cost less for each.
const MOST: u32 = AT_ONCE / 2;
/// Bytes of jobs that cost Redis about as much as a job of any size does anyway.
const TURN_BYTES: usize = 16 * 1024;
/// What has more is large: such bodies are parsed on another thread, and go to Redis over another connection.
const LARGE_BYTES: usize = 64 * 1024;

/// Beside others, a large turn is followed by a rest of this many times its duration. A job of 1 MiB keeps Redis or
/// a core from others for some milliseconds until it is settled, by a processor that knows of no turns: without a rest
/// the next one comes meanwhile, and one request of others waits behind several of them.
const RESTS: u32 = 3;
const LONGEST_REST: Duration = Duration::from_millis(300);

/// The turns of all callers that ask now.
#[derive(Default)]
pub(crate) struct CallerTurns(Arc<Mutex<Turns>>);

#[derive(Default)]
struct Turns {
    taken: HashMap<(Waiter, Size), Arc<Semaphore>>,
    recent: RecentCallers,
}

/// Small requests of a caller don't wait behind its large ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Size {
    Small,
    Large,
}

impl CallerTurns {
    /// Waits for the turn of `many` jobs with `bytes` together, or of a check, in the order in which this caller asked.
    /// It lasts until it is dropped.
    pub(crate) async fn take(&self, caller: Waiter, many: usize, bytes: usize) -> Turn {
        if bytes > LARGE_BYTES {
            return self.take_large(caller).await;
        }
        let many = u32::try_from(many.max(bytes / TURN_BYTES)).unwrap_or(MOST).min(MOST);
        self.enter((caller, Size::Small), many).await
    }

    /// The same of a request that may make Redis read, or this process write, as much as a large job has.
    pub(crate) async fn take_large(&self, caller: Waiter) -> Turn {
        self.enter((caller, Size::Large), 1).await
    }

    /// The same before the jobs in `bytes` are parsed; None where that takes no turn.
    pub(crate) async fn take_to_parse(&self, caller: &Waiter, bytes: usize) -> Option<Turn> {
        if bytes > LARGE_BYTES { Some(self.take_large(caller.clone()).await) } else { None }
    }

    /// The same for looking at one job: Redis reads all of it, and what it has isn't known before.
    pub(crate) async fn take_to_look(&self, caller: Waiter) -> Turn {
        self.take(caller, 1, LARGE_BYTES).await
    }

    async fn enter(&self, of: (Waiter, Size), many: u32) -> Turn {
        let semaphore = {
            let mut turns = locked(&self.0);
            turns.recent.saw(&of.0);
            let all = if of.1 == Size::Large { 1 } else { AT_ONCE as usize };
            Arc::clone(turns.taken.entry(of.clone()).or_insert_with(|| Arc::new(Semaphore::new(all))))
        };
        // Made before it waits, so that a request that ends meanwhile leaves nothing behind.
        let mut place = Place { turns: Arc::clone(&self.0), of, permit: None };
        // It is never closed.
        place.permit = semaphore.acquire_many_owned(many).await.ok();
        Turn { place: Some(place), begun: Instant::now() }
    }
}

fn locked(turns: &Mutex<Turns>) -> MutexGuard<'_, Turns> {
    turns.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) struct Turn {
    place: Option<Place>,
    begun: Instant,
}

impl Drop for Turn {
    /// Nobody else waits for the rest: the caller gets its answer at once.
    fn drop(&mut self) {
        let Some(place) = self.place.take().filter(Place::is_to_rest) else { return };
        let rest = (self.begun.elapsed() * RESTS).min(LONGEST_REST);
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                sleep(rest).await;
                drop(place);
            });
        }
    }
}

/// Among the turns of a caller.
struct Place {
    turns: Arc<Mutex<Turns>>,
    of: (Waiter, Size),
    permit: Option<OwnedSemaphorePermit>,
}

impl Place {
    fn is_to_rest(&self) -> bool {
        self.of.1 == Size::Large && locked(&self.turns).recent.has_others_than(&self.of.0)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut turns = locked(&self.turns);
        // Gives it to who waits, if anybody does.
        self.permit = None;
        if turns.taken.get(&self.of).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            turns.taken.remove(&self.of);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::pin::pin;

    use futures::FutureExt as _;

    use super::*;

    fn callers() -> [Waiter; 2] {
        ["acme", "other"].map(|caller| Waiter::new(Some(caller), None))
    }

    #[test]
    fn a_caller_has_a_bounded_number_at_once_and_others_have_theirs() {
        let turns = CallerTurns::default();
        let [acme, other] = callers();
        let batch = turns.take(acme.clone(), 1000, 0).now_or_never().unwrap();
        let jobs: Vec<_> = (0..16).map(|_| turns.take(acme.clone(), 1, 0).now_or_never().unwrap()).collect();
        let mut more = pin!(turns.take(acme, 1, 0));
        assert!(more.as_mut().now_or_never().is_none());
        let of_other = turns.take(other, 1, 0).now_or_never().unwrap();
        drop(batch);
        drop((more.now_or_never().unwrap(), jobs, of_other));
        assert!(locked(&turns.0).taken.is_empty(), "a caller without a turn is forgotten");
    }

    #[test]
    fn a_request_that_ends_while_it_waits_leaves_nothing_behind() {
        let turns = CallerTurns::default();
        let [acme, _] = callers();
        let first = turns.take(acme.clone(), 1, 1 << 20).now_or_never().unwrap();
        let mut waiting = Box::pin(turns.take(acme, 1, 1 << 20));
        assert!(waiting.as_mut().now_or_never().is_none());
        // It has its turn, and ends before it learns that.
        drop(first);
        drop(waiting);
        assert!(locked(&turns.0).taken.is_empty());
    }

    #[test]
    fn a_caller_has_one_large_request_at_a_time_beside_its_small_ones() {
        let turns = CallerTurns::default();
        let [acme, _] = callers();
        let large = turns.take(acme.clone(), 1, 1 << 20).now_or_never().unwrap();
        assert!(turns.take_large(acme.clone()).now_or_never().is_none(), "as a page, and as a batch");
        assert!(turns.take_to_parse(&acme, 1 << 20).now_or_never().is_none());
        assert!(turns.take_to_parse(&acme, LARGE_BYTES).now_or_never().unwrap().is_none());
        assert!(turns.take(acme.clone(), 1, LARGE_BYTES).now_or_never().is_some());
        // Nobody else is there: the next one waits for nothing.
        drop(large);
        assert!(turns.take_large(acme).now_or_never().is_some());
    }

    #[tokio::test]
    async fn beside_others_a_large_turn_is_followed_by_a_rest() {
        const TOOK: Duration = Duration::from_millis(20);
        let turns = CallerTurns::default();
        let [acme, other] = callers();
        drop(turns.take(other, 1, 0).await);
        let large = turns.take_large(acme.clone()).await;
        sleep(TOOK).await;
        drop(large);
        let ended = Instant::now();
        assert!(turns.take(acme.clone(), 1, 0).now_or_never().is_some(), "its small requests don't rest");
        let next = turns.take_large(acme.clone()).await;
        assert!(ended.elapsed() >= TOOK * RESTS);
        drop(next);
        drop(turns.take_large(acme).await);
    }
}
