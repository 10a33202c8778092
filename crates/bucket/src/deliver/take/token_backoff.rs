//! Replicas that find no token several times in a row ask more seldom. One replica that asks in time for each token is
//! enough; with as many questions for each token as there are replicas, these would cost Redis more than the jobs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::deliver::take::Idle;

/// Who takes a part of the tokens misses fewer in a row.
const FEW: u32 = 4;
/// The most by which a wait becomes longer: for so long nobody takes the tokens of a replica that stops. Where tokens
/// come more seldom, so do questions.
const MOST: Duration = Duration::from_millis(100);

/// Puts off the next take of a replica that found no token. `misses`: how many found none since one did.
pub(crate) fn put_off(idle: &mut Idle, misses: &AtomicU32) {
    if is_soon(idle.until) {
        let misses = misses.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        // Replicas that missed the same token don't ask together again.
        idle.until += longer(misses).mul_f64(f64::midpoint(1.0, fastrand::f64()));
    }
}

fn is_soon(until: Instant) -> bool {
    until.saturating_duration_since(Instant::now()) < MOST
}

/// By how much the next question comes later.
fn longer(misses: u32) -> Duration {
    let Some(doublings) = misses.checked_sub(FEW + 1) else { return Duration::ZERO };
    let ms = Duration::from_millis(1 << doublings.min(10));
    ms.min(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::take::Wanting;

    fn put_off_by(misses: &AtomicU32, wait: Duration) -> Duration {
        let until = Instant::now() + wait;
        let mut idle = Idle { wanting: Wanting::Token, until };
        put_off(&mut idle, misses);
        idle.until - until
    }

    #[test]
    fn who_finds_no_token_several_times_in_a_row_asks_more_seldom() {
        let (misses, soon) = (AtomicU32::new(0), Duration::ZERO);
        for _ in 0..FEW {
            assert_eq!(put_off_by(&misses, soon), Duration::ZERO);
        }
        let longer: Vec<Duration> = (0..20).map(|_| put_off_by(&misses, soon)).collect();
        assert!(longer[0] > Duration::ZERO && longer.iter().all(|longer| *longer <= MOST), "{longer:?}");
        assert!(longer[10..].iter().all(|longer| *longer >= MOST / 2), "{longer:?}");
        assert_eq!(put_off_by(&misses, MOST * 2), Duration::ZERO, "that is seldom enough");
    }
}
