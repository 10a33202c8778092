//! When counts are reported to Redis next: each policy has its own `sync`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

#[derive(Debug, Default)]
pub(super) struct NextReport {
    /// None: there is nothing to report.
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

    /// What is counted from now on is due again.
    pub(super) fn begin(&self) {
        *self.due.lock() = None;
    }

    pub(super) fn due(&self) -> Option<Instant> {
        *self.due.lock()
    }

    /// Is notified when the report is due earlier than it was, and when this is dropped.
    pub(super) fn earlier(&self) -> Arc<Notify> {
        self.earlier.clone()
    }
}

impl Drop for NextReport {
    fn drop(&mut self) {
        self.earlier.notify_one();
    }
}
