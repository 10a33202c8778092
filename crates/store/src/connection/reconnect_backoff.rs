//! The backoff between attempts to connect.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

/// The bounds of the pause after connections that were soon lost.
const MIN_REST: Duration = Duration::from_millis(20);
const MAX_REST: Duration = Duration::from_millis(250);

/// Returns the pause before the next connection, after this many in a row that were soon lost.
pub(super) fn rest(unsettled: u32) -> Duration {
    match unsettled {
        0 => Duration::ZERO,
        more => MIN_REST.saturating_mul(1 << more.min(10)).min(MAX_REST),
    }
}

/// Returns the pauses between attempts: doubling from 20 ms. With jitter at most a second, so that Redis is used again
/// within a second after it is back.
pub(crate) fn pauses() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(20))
        .with_max_delay(Duration::from_millis(500))
        .with_factor(2.0)
        .without_max_times()
        .with_jitter()
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pause_is_longer_than_a_second_and_there_is_always_another() {
        for _ in 0..100 {
            assert!(pauses().take(50).all(|pause| pause <= Duration::from_secs(1)));
            assert_eq!(pauses().take(50).count(), 50);
        }
        assert!((0..50).all(|unsettled| rest(unsettled) <= MAX_REST));
    }
}
