//! Whether a lane is on standby, and what wakes it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tokio::sync::Notify;

/// Lanes of this process that are on standby.
static ON_STANDBY: AtomicU32 = AtomicU32::new(0);

#[derive(Default)]
pub(crate) struct StandbyState {
    is_on_standby: AtomicBool,
    wake: Notify,
}

impl StandbyState {
    /// The lane is on standby until the result is dropped.
    pub(crate) fn begin(&self) -> impl Drop + '_ {
        self.is_on_standby.store(true, Ordering::Relaxed);
        ON_STANDBY.fetch_add(1, Ordering::Relaxed);
        OnStandby(&self.is_on_standby)
    }

    pub(crate) fn is_on_standby(&self) -> bool {
        self.is_on_standby.load(Ordering::Relaxed)
    }

    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    /// Returns when the lane is woken. Cancel safe.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }
}

/// How many lanes of this process are on standby.
pub(crate) fn on_standby() -> u32 {
    ON_STANDBY.load(Ordering::Relaxed)
}

struct OnStandby<'a>(&'a AtomicBool);

impl Drop for OnStandby<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
        ON_STANDBY.fetch_sub(1, Ordering::Relaxed);
    }
}
