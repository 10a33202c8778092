//! When the next job that this replica has parked is due: then another take is worthwhile, whatever the last one
//! returned.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

#[derive(Debug, Default)]
pub(crate) struct Retries {
    /// Of those put back since the last take, which saw all before.
    next: Mutex<Option<Instant>>,
    earlier: Notify,
}

impl Retries {
    /// One is due so long from now.
    pub(crate) fn add(&self, after: Duration) {
        // What is further off than the clock counts, a take will see.
        let Some(at) = Instant::now().checked_add(after) else { return };
        let mut next = self.next.lock();
        if next.is_none_or(|next| at < next) {
            *next = Some(at);
            self.earlier.notify_one();
        }
    }

    /// A take is about to look.
    pub(crate) fn forget(&self) {
        *self.next.lock() = None;
    }

    /// Until the next is due. For one who waits.
    pub(crate) async fn due(&self) {
        loop {
            let next = *self.next.lock();
            let Some(at) = next else {
                self.earlier.notified().await;
                continue;
            };
            tokio::select! {
                () = sleep_until(at) => return,
                () = self.earlier.notified() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Duration = Duration::from_hours(1);

    #[tokio::test]
    async fn the_earliest_is_waited_for_also_when_it_comes_later() {
        let retries = Retries::default();
        retries.add(LATER);
        tokio::join!(retries.due(), async { retries.add(Duration::ZERO) });
    }

    #[tokio::test]
    async fn what_a_take_saw_is_not_waited_for() {
        let retries = Retries::default();
        retries.add(Duration::ZERO);
        retries.forget();
        let mut due = Box::pin(retries.due());
        assert!(futures::poll!(&mut due).is_pending());
        retries.add(Duration::ZERO);
        due.await;
    }
}
