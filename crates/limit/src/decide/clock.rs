//! An estimate of the Redis clock: from its replies, or the clock of this machine until there is one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;

/// An estimate of the Redis clock, for [`Plan::pack`](crate::Plan::pack): the time of Redis when this began, plus the
/// monotonic clock, so that setting this machine's clock doesn't change it.
#[derive(Debug)]
pub struct Clock {
    began: Instant,
    began_us: AtomicU64,
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock {
    /// Until it has learned of the Redis clock, it goes by that of this machine.
    pub fn new() -> Self {
        let now = u64::try_from(Timestamp::now().as_microsecond()).unwrap_or(0);
        Self { began: Instant::now(), began_us: AtomicU64::new(now) }
    }

    /// µs since 1970.
    pub fn now_us(&self) -> u64 {
        self.began_us.load(Ordering::Relaxed).saturating_add(micros(self.began.elapsed()))
    }

    /// Sets the clock from a reply to a request of `sent`: Redis is assumed to have read `redis_us` halfway.
    pub fn learn(&self, redis_us: u64, sent: Instant) {
        let since = self.began.elapsed().saturating_sub(sent.elapsed() / 2);
        self.began_us.store(redis_us.saturating_sub(micros(since)), Ordering::Relaxed);
    }
}

pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
