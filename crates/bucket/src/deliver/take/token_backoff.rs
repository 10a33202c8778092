//! Replicas that find no token again and again ask more seldom. One replica that asks in time for each token is enough;
//! with as many questions for each token as there are replicas, these would cost Redis more than the jobs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::deliver::take::Take;
use crate::deliver::take::idle::{Idle, Wanting};

/// Who takes a part of the tokens misses fewer in a row.
const FEW: u32 = 4;
/// A wait isn't made longer than by this: for so long nobody takes the tokens of a replica that stops. Where tokens come
/// more seldom, questions do, too.
const MOST: Duration = Duration::from_millis(100);

/// How many takes of a replica have found no token since one did.
#[derive(Debug, Default)]
pub(crate) struct TokenBackoff(AtomicU32);

impl TokenBackoff {
    /// Puts off what the answer to a take says of the next one.
    pub(crate) fn put_off(&self, take: &mut Take) {
        match take {
            Take::Idle(Idle { wanting: Wanting::Token, until }) if is_soon(*until) => {
                let misses = self.0.fetch_add(1, Ordering::Relaxed).saturating_add(1);
                // Replicas that missed the same token don't ask together again.
                *until += longer(misses).mul_f64(f64::midpoint(1.0, fastrand::f64()));
            }
            Take::Jobs(..) => self.0.store(0, Ordering::Relaxed),
            Take::Idle(_) | Take::Fenced => {}
        }
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

    fn put_off(backoff: &TokenBackoff, wanting: Wanting) -> Duration {
        let until = Instant::now();
        let mut take = Take::Idle(Idle { wanting, until });
        backoff.put_off(&mut take);
        let Take::Idle(idle) = take else { unreachable!("it stays what it was") };
        idle.until - until
    }

    #[test]
    fn who_finds_no_token_again_and_again_asks_more_seldom() {
        let backoff = TokenBackoff::default();
        for _ in 0..FEW {
            assert_eq!(put_off(&backoff, Wanting::Token), Duration::ZERO);
        }
        let waits: Vec<Duration> = (0..20).map(|_| put_off(&backoff, Wanting::Token)).collect();
        assert!(waits[0] > Duration::ZERO && waits.iter().all(|wait| *wait <= MOST), "{waits:?}");
        assert!(waits[10..].iter().all(|wait| *wait >= MOST / 2), "{waits:?}");
        assert_eq!(put_off(&backoff, Wanting::Job), Duration::ZERO, "there would be a token");
        backoff.put_off(&mut Take::Jobs(Vec::new(), None));
        assert_eq!(put_off(&backoff, Wanting::Token), Duration::ZERO);
    }
}
