//! Whether a lane is on standby, and what wakes it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use tokio::sync::Notify;

/// Lanes of this process that are on standby.
static ON_STANDBY: AtomicU32 = AtomicU32::new(0);

#[derive(Default)]
pub(crate) struct StandbyState {
    stands_by: AtomicBool,
    wakes: Notify,
}

impl StandbyState {
    /// It is on standby until the result is dropped.
    pub(crate) fn begin(&self) -> impl Drop + '_ {
        self.stands_by.store(true, Ordering::Relaxed);
        ON_STANDBY.fetch_add(1, Ordering::Relaxed);
        OnStandby(&self.stands_by)
    }

    pub(crate) fn stands_by(&self) -> bool {
        self.stands_by.load(Ordering::Relaxed)
    }

    pub(crate) fn wake(&self) {
        self.wakes.notify_one();
    }

    /// May be dropped at any time.
    pub(crate) async fn woken(&self) {
        self.wakes.notified().await;
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
