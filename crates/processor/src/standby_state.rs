//! Whether a lane is on standby, and what wakes it.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct StandbyState {
    stands_by: AtomicBool,
    wakes: Notify,
}

impl StandbyState {
    pub(crate) fn set(&self, stands_by: bool) {
        self.stands_by.store(stands_by, Ordering::Relaxed);
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
