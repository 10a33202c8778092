//! Readiness of a process: it isn't stopping, and Redis accepts writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dripfeed_store::{Store, WriteAccess};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// The timeout of a readiness check's request to Redis.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);

/// The readiness of a process. Cheap to clone.
#[derive(Clone)]
pub struct Health(Arc<HealthState>);

struct HealthState {
    store: Store,
    /// The time and result of the last request to Redis. Locked during a request, so that concurrent checks share its
    /// result.
    checked: Mutex<Option<(Instant, RedisAccess)>>,
    leaving: CancellationToken,
    draining: CancellationToken,
    /// Whether `draining` is cancelled, without the lock of a token, because every request checks it.
    is_draining: AtomicBool,
}

/// The state of the server, or of each master of a Redis Cluster.
#[derive(Clone, Debug)]
pub struct RedisAccess(Vec<WriteAccess>);

impl RedisAccess {
    /// Returns whether each server responds, other than by denying access.
    #[must_use]
    pub fn is_up(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(is_responding)
    }

    /// Returns whether one server responds, other than by denying access.
    #[must_use]
    pub fn is_partly_up(&self) -> bool {
        self.0.iter().any(is_responding)
    }

    /// Returns whether each server accepts writes.
    #[must_use]
    pub fn takes_writes(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|access| *access == WriteAccess::Open)
    }

    /// Ready if one server accepts writes: in a Cluster, the buckets on other nodes have work while a node is down.
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

/// Whether a server responds, other than by denying access.
const fn is_responding(access: &WriteAccess) -> bool {
    matches!(access, WriteAccess::Open | WriteAccess::Refused)
}

/// Why a process isn't ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReady {
    Draining,
    RedisUnavailable,
    RedisRefusesWrites,
    RedisDeniesAccess,
}

impl Health {
    /// The minimum time between two requests to Redis, however many checks there are.
    pub const CHECK_INTERVAL: Duration = Duration::from_secs(1);

    #[must_use]
    pub fn new(store: Store) -> Self {
        let (leaving, draining) = (CancellationToken::new(), CancellationToken::new());
        let (checked, is_draining) = (Mutex::default(), AtomicBool::new(false));
        Self(Arc::new(HealthState { store, checked, leaving, draining, is_draining }))
    }

    /// Reports not ready from now on. Requests are still served.
    pub fn mark_not_ready(&self) {
        self.0.leaving.cancel();
    }

    /// Reports not ready, and refuses new requests.
    pub fn drain(&self) {
        self.mark_not_ready();
        self.0.is_draining.store(true, Ordering::Release);
        self.0.draining.cancel();
    }

    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.is_draining.load(Ordering::Acquire)
    }

    /// Returns a token that is cancelled when draining begins.
    #[must_use]
    pub fn draining(&self) -> &CancellationToken {
        &self.0.draining
    }

    /// Checks readiness.
    ///
    /// # Errors
    /// When this process is stopping, or Redis doesn't respond, denies access, or refuses writes; in a Redis Cluster,
    /// when all masters do.
    pub async fn ready(&self) -> Result<(), NotReady> {
        if self.0.leaving.is_cancelled() {
            return Err(NotReady::Draining);
        }
        self.redis().await.ready()
    }

    /// Returns the state of Redis, at most a second old.
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
