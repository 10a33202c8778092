//! Detects stalls of the machine, after which tests of short times are repeated.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use dripfeed_store::Store;
use tokio_util::task::AbortOnDropHandle;

/// Interval between two checks.
const TICK: Duration = Duration::from_millis(1);
/// How late a check may be without a stall.
const CALM: Duration = Duration::from_millis(10);

/// Watches this process and its Redis until dropped.
pub struct Stalls {
    seen: Arc<Mutex<Seen>>,
    _watching: AbortOnDropHandle<()>,
}

struct Seen {
    last: SystemTime,
    stalls: Vec<Range<SystemTime>>,
    /// How many of them somebody has asked for.
    asked: usize,
    went_on: Duration,
}

impl Seen {
    fn look(&mut self) {
        let now = SystemTime::now();
        let since = now.duration_since(self.last).unwrap_or_default();
        if since > CALM {
            self.stalls.push(self.last..now);
        } else {
            self.went_on += since;
        }
        self.last = now;
    }
}

impl Stalls {
    pub fn watch(store: Store) -> Self {
        let seen = Seen { last: SystemTime::now(), stalls: Vec::new(), asked: 0, went_on: Duration::ZERO };
        let seen = Arc::new(Mutex::new(seen));
        let watched = Arc::clone(&seen);
        let watching = tokio::spawn(async move {
            loop {
                tokio::time::sleep(TICK).await;
                if store.ping().await.is_ok() {
                    watched.lock().unwrap_or_else(PoisonError::into_inner).look();
                }
            }
        });
        Self { seen, _watching: AbortOnDropHandle::new(watching) }
    }

    fn look(&self) -> MutexGuard<'_, Seen> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.look();
        seen
    }

    /// Whether there was a stall since the last call.
    pub fn were_there(&self) -> bool {
        let mut seen = self.look();
        let stalls = seen.stalls.len();
        let before = std::mem::replace(&mut seen.asked, stalls);
        stalls > before
    }

    /// Whether there was a stall in a period, which is over.
    pub fn were_in(&self, time: &Range<SystemTime>) -> bool {
        self.look().stalls.iter().any(|stall| stall.start < time.end && time.start < stall.end)
    }

    /// How long the machine ran without a stall, in all.
    pub fn went_on(&self) -> Duration {
        self.look().went_on
    }
}
