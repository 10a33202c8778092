//! The backoff between retries.

use std::time::Duration;

const FIRST_WAIT: Duration = Duration::from_millis(200);
const MAX_WAIT: Duration = Duration::from_secs(10);

/// `asked`: the server's `Retry-After`. The wait is up to a tenth longer, so that callers that were refused together
/// don't return together. Without it, or if it is zero, the wait grows with each failure. `chance` is between 0 and 1.
pub(crate) fn backoff(asked: Option<Duration>, failures: u32, chance: f64) -> Duration {
    match asked.filter(|asked| !asked.is_zero()) {
        Some(asked) => asked.saturating_add(asked.min(Duration::from_secs(600)).mul_f64(chance / 10.0)),
        None => FIRST_WAIT.saturating_mul(1 << failures.min(10)).min(MAX_WAIT).mul_f64(0.5 + chance / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_never_comes_before_the_retry_after_of_the_server() {
        let second = Duration::from_secs(1);
        assert_eq!(backoff(Some(second), 9, 0.0), second);
        assert_eq!(backoff(Some(second), 0, 1.0), Duration::from_millis(1100));
        assert_eq!(backoff(Some(Duration::MAX), 0, 1.0), Duration::MAX);
    }

    #[test]
    fn a_server_that_says_at_once_again_and_again_is_asked_less_and_less() {
        for failures in [0, 1, 20] {
            assert_eq!(backoff(Some(Duration::ZERO), failures, 1.0), backoff(None, failures, 1.0));
        }
    }

    #[test]
    fn waits_grow_up_to_a_bound_and_differ() {
        let millis = |failures, chance| backoff(None, failures, chance).as_millis();
        assert_eq!([0, 1, 2, 20].map(|failures| millis(failures, 1.0)), [200, 400, 800, 10_000]);
        assert_eq!((millis(0, 0.0), millis(99, 0.0)), (100, 5000));
    }
}
