//! Whether the machine stood still: where a promise is about a short time, a test asks again when it did.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dripfeed_store::Store;
use tokio_util::task::AbortOnDropHandle;

/// Between two looks.
const TICK: Duration = Duration::from_millis(1);
/// What a machine that goes on may be late.
const CALM: Duration = Duration::from_millis(10);

/// Watches this process and its Redis until dropped.
pub struct Stalls {
    seen: Arc<Mutex<Seen>>,
    _watching: AbortOnDropHandle<()>,
}

struct Seen {
    last: Instant,
    longest: Duration,
}

impl Seen {
    fn look(&mut self) {
        let now = Instant::now();
        self.longest = self.longest.max(now - self.last);
        self.last = now;
    }
}

impl Stalls {
    pub fn watch(store: Store) -> Self {
        let seen = Arc::new(Mutex::new(Seen { last: Instant::now(), longest: Duration::ZERO }));
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

    /// Whether there was one since this was last asked.
    pub fn were_there(&self) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.look();
        std::mem::take(&mut seen.longest) > CALM
    }
}
