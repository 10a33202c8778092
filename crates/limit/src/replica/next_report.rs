//! The time of the next report to Redis. Each policy has its own `sync`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(super) struct NextReport {
    /// `None` if there is nothing to report.
    due: Mutex<Option<Instant>>,
    earlier: Arc<Notify>,
}

impl NextReport {
    pub(super) fn within(&self, pause: Duration) {
        let at = Instant::now() + pause;
        let mut due = self.due.lock();
        if due.is_none_or(|due| at < due) {
            *due = Some(at);
            self.earlier.notify_one();
        }
    }

    /// Starts a report: later counts need another one.
    pub(super) fn begin(&self) {
        *self.due.lock() = None;
    }

    pub(super) fn due(&self) -> Option<Instant> {
        *self.due.lock()
    }

    /// Is notified when the report becomes due earlier, and when this is dropped.
    pub(super) fn earlier(&self) -> Arc<Notify> {
        self.earlier.clone()
    }
}

impl Drop for NextReport {
    fn drop(&mut self) {
        self.earlier.notify_one();
    }
}
