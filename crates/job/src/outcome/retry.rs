//! The backoff between attempts.

use std::time::Duration;

/// Exponential backoff with full jitter: a draw between zero and `first · 2^(failures − 1)`, at most `max`
/// (M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Maximum attempts, including the first; at least 1.
    pub attempts: u32,
    pub first: Duration,
    pub max: Duration,
}

impl Retry {
    /// Returns the delay after the `failures`-th failed attempt, or `None` if that was the last. `draw` is uniform in
    /// `[0, 1)`.
    #[must_use]
    pub fn after(&self, failures: u32, draw: f64) -> Option<Duration> {
        if failures >= self.attempts {
            return None;
        }
        let doublings = failures.saturating_sub(1).min(31);
        let ceiling = self.first.saturating_mul(1 << doublings).min(self.max);
        Some(ceiling.mul_f64(draw.clamp(0.0, 1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETRY: Retry = Retry { attempts: 5, first: Duration::from_secs(1), max: Duration::from_secs(3) };

    #[test]
    fn the_ceiling_doubles_up_to_the_most() {
        let nearly = 0.999_999;
        let seconds = |failures| RETRY.after(failures, nearly).map(|wait| wait.as_secs_f64().round());
        assert_eq!([1, 2, 3, 4, 5].map(seconds), [Some(1.0), Some(2.0), Some(3.0), Some(3.0), None]);
    }

    #[test]
    fn jitter_is_full() {
        assert_eq!(RETRY.after(2, 0.0), Some(Duration::ZERO));
        assert_eq!(RETRY.after(2, 0.5), Some(Duration::from_secs(1)));
    }

    #[test]
    fn many_failures_do_not_overflow() {
        let patient =
            Retry { attempts: u32::MAX, first: Duration::from_secs(u64::MAX / 2), max: Duration::from_secs(9) };
        assert_eq!(patient.after(u32::MAX - 1, 1.0), Some(Duration::from_secs(9)));
    }
}
