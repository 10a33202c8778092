//! Whether a process is ready for work: it isn't stopping, and Redis answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dripfeed_store::Store;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Timeout of a readiness check's PING.
const PING_TIMEOUT: Duration = Duration::from_secs(1);

/// Readiness of one process. Cheap to clone.
#[derive(Clone)]
pub struct Health(Arc<HealthState>);

struct HealthState {
    store: Store,
    /// Time and result of the last PING. Locked during a PING, so that concurrent checks share its result.
    checked: Mutex<Option<(Instant, bool)>>,
    leaving: CancellationToken,
    draining: CancellationToken,
    /// The same: every request asks, and a token has a lock.
    is_draining: AtomicBool,
}

/// Why a process should get no requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReady {
    Draining,
    RedisUnavailable,
}

impl Health {
    /// Redis is pinged at most this often, however many checks come in.
    pub const PING_INTERVAL: Duration = Duration::from_secs(1);

    #[must_use]
    pub fn new(store: Store) -> Self {
        let (leaving, draining) = (CancellationToken::new(), CancellationToken::new());
        let (checked, is_draining) = (Mutex::default(), AtomicBool::new(false));
        Self(Arc::new(HealthState { store, checked, leaving, draining, is_draining }))
    }

    /// Reports not ready from now on. Requests are still served.
    pub fn leave(&self) {
        self.0.leaving.cancel();
    }

    /// Reports not ready, and refuses new requests.
    pub fn drain(&self) {
        self.leave();
        self.0.is_draining.store(true, Ordering::Release);
        self.0.draining.cancel();
    }

    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.is_draining.load(Ordering::Acquire)
    }

    /// Cancelled when draining begins.
    #[must_use]
    pub fn draining(&self) -> &CancellationToken {
        &self.0.draining
    }

    /// Checks readiness.
    ///
    /// # Errors
    /// When this process is stopping, or Redis doesn't answer.
    pub async fn ready(&self) -> Result<(), NotReady> {
        if self.0.leaving.is_cancelled() {
            return Err(NotReady::Draining);
        }
        if self.redis_answers().await { Ok(()) } else { Err(NotReady::RedisUnavailable) }
    }

    /// Whether Redis answered a PING within the last second.
    pub async fn redis_answers(&self) -> bool {
        let mut checked = self.0.checked.lock().await;
        if let Some((when, answered)) = *checked
            && when.elapsed() < Self::PING_INTERVAL
        {
            return answered;
        }
        let answered = matches!(tokio::time::timeout(PING_TIMEOUT, self.0.store.ping()).await, Ok(Ok(())));
        *checked = Some((Instant::now(), answered));
        answered
    }
}
