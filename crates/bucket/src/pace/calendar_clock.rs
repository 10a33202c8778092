//! The Redis clock, by which windows of calendars are computed for scripts. By the clock of this machine, which may be
//! wrong, a window could end late, or never.

use std::time::{Duration, Instant};

use dripfeed_limit::RedisClock;
use dripfeed_store::Store;
use parking_lot::Mutex;

/// How often Redis is asked, as its clock may be set.
const INTERVAL: Duration = Duration::from_mins(1);
/// How long a script waits for the answer; otherwise it goes by the clock as it is known.
const PATIENCE: Duration = Duration::from_millis(200);

#[derive(Debug, Default)]
pub(crate) struct CalendarClock {
    clock: RedisClock,
    asked: Mutex<Option<Instant>>,
}

impl CalendarClock {
    /// µs since 1970.
    pub(crate) fn now_us(&self) -> u64 {
        self.clock.now_us()
    }

    /// Asks Redis for its time, unless that was done lately.
    pub(crate) async fn look(&self, store: &Store) {
        if self.asked.lock().is_some_and(|asked| asked.elapsed() < INTERVAL) {
            return;
        }
        let (sent, time) = (Instant::now(), redis::cmd("TIME"));
        // On an error the script that follows fails, too.
        if let Ok(Ok((seconds, micros))) = tokio::time::timeout(PATIENCE, store.command::<(u64, u64)>(&time)).await {
            self.clock.learn(seconds.saturating_mul(1_000_000).saturating_add(micros), sent);
            *self.asked.lock() = Some(sent);
        }
    }
}
