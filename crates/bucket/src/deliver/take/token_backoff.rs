//! Backoff of a replica whose takes find no token several times in a row. It is enough that one replica takes each
//! token in time: if all replicas tried, their takes would cost Redis more than the jobs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::deliver::take::Idle;

/// A replica that gets its part of the tokens has no more misses than this in a row.
const USUAL_MISSES: u32 = 4;
/// The maximum delay, and for how long tokens are lost after the replica that takes them stops. If tokens are less
/// frequent than this, takes are, too, and nothing is delayed.
const MAX_DELAY: Duration = Duration::from_millis(100);

/// Delays the next take of a replica that found no token. `misses`: its takes without a token since one had a token.
pub(crate) fn delay_next_take(idle: &mut Idle, misses: &AtomicU32) {
    if is_soon(idle.until) {
        let misses = misses.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        // Jitter, so that replicas that missed the same token don't try together again.
        idle.until += delay(misses).mul_f64(f64::midpoint(1.0, fastrand::f64()));
    }
}

fn is_soon(until: Instant) -> bool {
    until.saturating_duration_since(Instant::now()) < MAX_DELAY
}

fn delay(misses: u32) -> Duration {
    let Some(doublings) = misses.checked_sub(USUAL_MISSES + 1) else { return Duration::ZERO };
    let ms = Duration::from_millis(1 << doublings.min(10));
    ms.min(MAX_DELAY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::take::WaitReason;

    fn delayed_by(misses: &AtomicU32, wait: Duration) -> Duration {
        let until = Instant::now() + wait;
        let mut idle = Idle { wait_for: WaitReason::Token, until };
        delay_next_take(&mut idle, misses);
        idle.until - until
    }

    #[test]
    fn who_finds_no_token_several_times_in_a_row_asks_more_seldom() {
        let (misses, soon) = (AtomicU32::new(0), Duration::ZERO);
        for _ in 0..USUAL_MISSES {
            assert_eq!(delayed_by(&misses, soon), Duration::ZERO);
        }
        let delays: Vec<Duration> = (0..20).map(|_| delayed_by(&misses, soon)).collect();
        assert!(delays[0] > Duration::ZERO && delays.iter().all(|delay| *delay <= MAX_DELAY), "{delays:?}");
        assert!(delays[10..].iter().all(|delay| *delay >= MAX_DELAY / 2), "{delays:?}");
        assert_eq!(delayed_by(&misses, MAX_DELAY * 2), Duration::ZERO, "that is seldom enough");
    }
}
