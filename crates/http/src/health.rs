//! Whether a process is ready for work: it isn't stopping, and Redis takes writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dripfeed_store::{ErrorKind, InstallationKeys, Store};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Timeout of a readiness check's request to Redis.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);

/// Readiness of one process. Cheap to clone.
#[derive(Clone)]
pub struct Health(Arc<HealthState>);

struct HealthState {
    store: Store,
    /// Of the installation: never there.
    nothing: String,
    /// Time and result of the last request. Locked during a request, so that concurrent checks share its result.
    checked: Mutex<Option<(Instant, RedisState)>>,
    leaving: CancellationToken,
    draining: CancellationToken,
    /// The same: every request asks, and a token has a lock.
    is_draining: AtomicBool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RedisState {
    TakesWrites,
    /// A replica, as after a failover; or a master with too few replicas, or a full disk.
    RefusesWrites,
    /// The ACL, or the login, doesn't permit a write.
    DeniesAccess,
    Silent,
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
        let nothing = InstallationKeys::new(store.prefix()).nothing;
        Self(Arc::new(HealthState { store, nothing, checked, leaving, draining, is_draining }))
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
    /// When this process is stopping, or Redis doesn't answer, denies access, or refuses writes.
    pub async fn ready(&self) -> Result<(), NotReady> {
        if self.0.leaving.is_cancelled() {
            return Err(NotReady::Draining);
        }
        match self.redis_state().await {
            RedisState::TakesWrites => Ok(()),
            RedisState::RefusesWrites => Err(NotReady::RedisRefusesWrites),
            RedisState::DeniesAccess => Err(NotReady::RedisDeniesAccess),
            RedisState::Silent => Err(NotReady::RedisUnavailable),
        }
    }

    /// Whether Redis answered within the last second, other than by denying access.
    pub async fn redis_answers(&self) -> bool {
        matches!(self.redis_state().await, RedisState::TakesWrites | RedisState::RefusesWrites)
    }

    async fn redis_state(&self) -> RedisState {
        let mut checked = self.0.checked.lock().await;
        if let Some((when, state)) = *checked
            && when.elapsed() < Self::CHECK_INTERVAL
        {
            return state;
        }
        let state = match tokio::time::timeout(CHECK_TIMEOUT, self.0.store.takes_writes(&self.0.nothing)).await {
            Ok(Ok(true)) => RedisState::TakesWrites,
            Ok(Ok(false)) => RedisState::RefusesWrites,
            Ok(Err(error)) if error.kind() == ErrorKind::Denied => RedisState::DeniesAccess,
            Ok(Err(_)) | Err(_) => RedisState::Silent,
        };
        *checked = Some((Instant::now(), state));
        state
    }
}
