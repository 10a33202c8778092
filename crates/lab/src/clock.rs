//! Estimates the Redis clock, by which windows begin and end, from this machine's clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dripfeed_store::Store;
use redis::cmd;

use crate::error::LabError;

/// An instant of this machine, and the time of the Redis clock then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    at: Instant,
    us: i64,
}

/// Of several requests, the one with the shortest round trip gives the most exact time.
const LOOKS: usize = 20;

impl Clock {
    pub(crate) async fn of(store: &Store) -> Result<Self, LabError> {
        let mut best: Option<(Duration, Self)> = None;
        for _ in 0..LOOKS {
            let asked = Instant::now();
            let (seconds, micros): (i64, i64) = store.command(&cmd("TIME")).await?;
            let took = asked.elapsed();
            if best.is_none_or(|(shortest, _)| took < shortest) {
                best = Some((took, Self { at: asked + took / 2, us: seconds * 1_000_000 + micros }));
            }
        }
        let now = || Self { at: Instant::now(), us: i64::try_from(Self::unix_ms()).unwrap_or(0) * 1000 };
        Ok(best.map_or_else(now, |(_, clock)| clock))
    }

    /// Creates a clock that showed `us` at `at`.
    #[cfg(test)]
    pub(crate) fn showing(us: i64, at: Instant) -> Self {
        Self { at, us }
    }

    /// Returns the Redis clock at an instant, in µs since 1970.
    pub(crate) fn us(&self, at: Instant) -> i64 {
        let micros = |duration: Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        if at >= self.at { self.us + micros(at - self.at) } else { self.us - micros(self.at - at) }
    }

    /// Returns the time until the next multiple of `period`.
    pub(crate) fn until_next(&self, period: Duration) -> Duration {
        let period = i64::try_from(period.as_micros()).unwrap_or(1).max(1);
        let into = self.us(Instant::now()).rem_euclid(period);
        Duration::from_micros(u64::try_from(period - into).unwrap_or(0))
    }

    pub(crate) fn unix_ms() -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(0)
    }
}
