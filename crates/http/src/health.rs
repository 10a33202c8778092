//! Whether a process is ready for work: it isn't stopping, and Redis takes writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dripfeed_store::{Store, WriteAccess};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Timeout of a readiness check's request to Redis.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);

/// Readiness of one process. Cheap to clone.
#[derive(Clone)]
pub struct Health(Arc<HealthState>);

struct HealthState {
    store: Store,
    /// Time and result of the last request. Locked during a request, so that concurrent checks share its result.
    checked: Mutex<Option<(Instant, RedisAccess)>>,
    leaving: CancellationToken,
    draining: CancellationToken,
    /// The same: every request asks, and a token has a lock.
    is_draining: AtomicBool,
}

/// What the servers that should take writes do: one, or each master of a Redis Cluster.
#[derive(Clone, Debug)]
pub struct RedisAccess(Vec<WriteAccess>);

impl RedisAccess {
    /// Whether each of them answers, other than by denying access.
    #[must_use]
    pub fn is_up(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(answers)
    }

    /// Whether one of them does.
    #[must_use]
    pub fn is_partly_up(&self) -> bool {
        self.0.iter().any(answers)
    }

    /// Whether each of them takes writes.
    #[must_use]
    pub fn takes_writes(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|access| *access == WriteAccess::Open)
    }

    /// A bucket is on one of the nodes of a Cluster: those on the others have work while one of them is gone.
    fn ready(&self) -> Result<(), NotReady> {
        let is_any = |access| self.0.contains(&access);
        if is_any(WriteAccess::Open) {
            Ok(())
        } else if is_any(WriteAccess::Denied) {
            Err(NotReady::RedisDeniesAccess)
        } else if is_any(WriteAccess::Refused) {
            Err(NotReady::RedisRefusesWrites)
        } else {
            Err(NotReady::RedisUnavailable)
        }
    }
}

/// Other than by denying access.
const fn answers(access: &WriteAccess) -> bool {
    matches!(access, WriteAccess::Open | WriteAccess::Refused)
}

/// Why a process should get no requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReady {
    Draining,
    RedisUnavailable,
    RedisRefusesWrites,
    RedisDeniesAccess,
}

impl Health {
    /// Redis is asked at most this often, however many checks come in.
    pub const CHECK_INTERVAL: Duration = Duration::from_secs(1);

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
    /// When this process is stopping, or Redis doesn't answer, denies access, or refuses writes: of a Redis Cluster,
    /// each master.
    pub async fn ready(&self) -> Result<(), NotReady> {
        if self.0.leaving.is_cancelled() {
            return Err(NotReady::Draining);
        }
        self.redis().await.ready()
    }

    /// How Redis answered within the last second.
    pub async fn redis(&self) -> RedisAccess {
        let mut checked = self.0.checked.lock().await;
        if let Some((when, access)) = &*checked
            && when.elapsed() < Self::CHECK_INTERVAL
        {
            return access.clone();
        }
        let access = RedisAccess(self.0.store.write_access(CHECK_TIMEOUT).await);
        *checked = Some((Instant::now(), access.clone()));
        access
    }
}
