//! The upstream's answer to a call, and the verdict on its job.

use std::time::Duration;

/// The parts of a call's result on which the verdict depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpstreamAnswer {
    Status {
        status: u16,
        retry_after: Option<Duration>,
        /// The time until the upstream's quota is reset, if it is used up.
        exhausted_for: Option<Duration>,
        /// The upstream said `Dripfeed-No-Retry: 1`.
        no_retry: bool,
    },
    /// There was no complete answer.
    Nothing { why: String, timed_out: bool },
}

/// What an upstream's answer means for its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Delivered,
    /// The attempt failed; the job may be retried.
    Failed(String),
    /// The upstream asked to wait: the bucket is throttled, and the attempt isn't counted. `None` if it named no time.
    Throttled {
        retry_after: Option<Duration>,
    },
    /// A retry can't succeed.
    Dead(String),
}

impl UpstreamAnswer {
    /// Returns what the answer means for the job.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let (status, retry_after, no_retry) = match self {
            Self::Nothing { why, .. } => return Verdict::Failed(why.clone()),
            Self::Status { status, retry_after, no_retry, .. } => (*status, *retry_after, *no_retry),
        };
        // An upstream that refuses a call and asks for no wait, or for one that is over, names no time: otherwise it
        // would get the same call again at once, without end.
        let named = |wait: Option<Duration>| wait.filter(|wait| !wait.is_zero());
        match status {
            200..=299 => Verdict::Delivered,
            _ if no_retry => Verdict::Dead(format!("the upstream answered {status} and disallowed retries")),
            429 => Verdict::Throttled { retry_after: named(retry_after).or(named(self.exhausted_for())) },
            503 if retry_after.is_some() => Verdict::Throttled { retry_after: named(retry_after) },
            408 | 425 | 500..=599 => Verdict::Failed(format!("the upstream answered {status}")),
            300..=399 => Verdict::Dead(format!("the upstream answered {status}; redirects are not followed")),
            _ => Verdict::Dead(format!("the upstream answered {status}")),
        }
    }

    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            Self::Nothing { .. } => None,
        }
    }

    /// Returns the time until the upstream's quota is reset, if it is used up.
    #[must_use]
    pub const fn exhausted_for(&self) -> Option<Duration> {
        match self {
            Self::Status { exhausted_for, .. } => *exhausted_for,
            Self::Nothing { .. } => None,
        }
    }

    /// Returns whether the call timed out.
    #[must_use]
    pub const fn timed_out(&self) -> bool {
        matches!(self, Self::Nothing { timed_out: true, .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(status: u16, retry_after: Option<u64>, no_retry: bool) -> Verdict {
        let retry_after = retry_after.map(Duration::from_secs);
        UpstreamAnswer::Status { status, retry_after, exhausted_for: None, no_retry }.verdict()
    }

    #[test]
    fn the_verdicts_are_those_of_the_contract() {
        for status in [200, 201, 202, 204, 299] {
            assert_eq!(verdict(status, None, false), Verdict::Delivered);
        }
        for status in [408, 425, 500, 502, 503, 504, 599] {
            assert!(matches!(verdict(status, None, false), Verdict::Failed(_)), "{status}");
        }
        for status in [301, 302, 304, 400, 401, 404, 410, 422] {
            assert!(matches!(verdict(status, None, false), Verdict::Dead(_)), "{status}");
        }
        assert_eq!(verdict(429, None, false), Verdict::Throttled { retry_after: None });
        assert_eq!(verdict(503, Some(7), false), Verdict::Throttled { retry_after: Some(Duration::from_secs(7)) });
        let nothing = UpstreamAnswer::Nothing { why: "timeout".to_owned(), timed_out: true };
        assert!(matches!(nothing.verdict(), Verdict::Failed(_)));
    }

    #[test]
    fn a_refusal_that_asks_for_no_wait_names_no_time() {
        for status in [429, 503] {
            assert_eq!(verdict(status, Some(0), false), Verdict::Throttled { retry_after: None }, "{status}");
        }
        let (zero, later) = (Some(Duration::ZERO), Some(Duration::from_secs(3)));
        for (retry_after, exhausted_for, wait) in [(zero, later, later), (zero, zero, None), (None, zero, None)] {
            let answer = UpstreamAnswer::Status { status: 429, retry_after, exhausted_for, no_retry: false };
            assert_eq!(answer.verdict(), Verdict::Throttled { retry_after: wait });
        }
    }

    #[test]
    fn a_used_up_quota_says_how_long_a_429_means() {
        let (short, long) = (Some(Duration::from_secs(3)), Some(Duration::from_secs(9)));
        let wait = |retry_after, exhausted_for| {
            UpstreamAnswer::Status { status: 429, retry_after, exhausted_for, no_retry: false }.verdict()
        };
        assert_eq!(wait(None, long), Verdict::Throttled { retry_after: long });
        assert_eq!(wait(short, long), Verdict::Throttled { retry_after: short });
    }

    #[test]
    fn no_retry_makes_any_refusal_final_but_never_undoes_a_delivery() {
        for status in [429, 500, 503] {
            assert!(matches!(verdict(status, Some(1), true), Verdict::Dead(_)), "{status}");
        }
        assert_eq!(verdict(200, None, true), Verdict::Delivered);
    }
}
