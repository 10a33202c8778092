//! Estimates the Redis clock between two replies.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;

#[derive(Debug)]
pub(super) struct RedisClock {
    begun: Instant,
    /// The Redis clock at `begun`, in ms.
    at_start_ms: AtomicU64,
}

impl Default for RedisClock {
    fn default() -> Self {
        Self { begun: Instant::now(), at_start_ms: AtomicU64::new(0) }
    }
}

impl RedisClock {
    /// Sets the clock to the time in a reply of Redis.
    pub(super) fn set(&self, now_ms: u64) {
        self.at_start_ms.store(now_ms.saturating_sub(self.elapsed_ms()), Ordering::Relaxed);
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.at_start_ms.load(Ordering::Relaxed).saturating_add(self.elapsed_ms())
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_between_two_answers() {
        let clock = RedisClock::default();
        clock.set(1_700_000_000_000);
        let now_ms = clock.now_ms();
        assert!(now_ms >= 1_700_000_000_000 && clock.now_ms() >= now_ms);
    }
}
