//! Retries of calls, bounded by number and time.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::backoff::backoff;
use crate::client_error::ClientError;

/// Timeout of a complete response, longer than the maximum `Prefer: wait`.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(90);

/// The number of tries at a server that never answers.
const SILENT_TRIES: u32 = 3;

/// Minimum time of a try, but at most a twentieth of the time of all tries.
const MIN_TRY_TIME: Duration = Duration::from_millis(500);

/// Limits the retries of one call. All tries end [`within`](Self::within) a time, and none starts in its last half
/// second (or twentieth, if that is shorter). If the next try would start later, or the server asks for a longer wait
/// than [`longest_wait`](Self::longest_wait), the last error is returned at once. If a call may be retried, one try
/// waits for its answer at most a third of the time and 90 seconds. The time that the server is asked to wait for an
/// outcome is added to all these times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    within: Duration,
    tries: u32,
    longest_wait: Duration,
}

impl Retries {
    /// The default of [`longest_wait`](Self::longest_wait): an hour, so that hourly limits are waited for.
    pub const LONGEST_WAIT: Duration = Duration::from_secs(3600);

    /// No retries.
    pub const NONE: Self = Self { within: ANSWER_TIMEOUT, tries: 1, longest_wait: Self::LONGEST_WAIT };

    /// Allows any number of tries within `time`, at least one.
    #[must_use]
    pub const fn within(time: Duration) -> Self {
        if time.is_zero() { Self::NONE } else { Self { within: time, tries: u32::MAX, ..Self::NONE } }
    }

    /// Limits the tries to `tries`, including the first.
    #[must_use]
    pub const fn at_most(self, tries: u32) -> Self {
        Self { tries: if tries == 0 { 1 } else { tries }, ..self }
    }

    /// Gives up if the server's `Retry-After` is longer than this, by default than
    /// [`LONGEST_WAIT`](Self::LONGEST_WAIT).
    #[must_use]
    pub const fn longest_wait(self, longest_wait: Duration) -> Self {
        Self { longest_wait, ..self }
    }

    /// Returns the time for all tries.
    #[must_use]
    pub const fn time(&self) -> Duration {
        self.within
    }

    pub(crate) fn are_on(self) -> bool {
        self.tries > 1
    }

    /// Returns whether another try may start after `wait`. `asked` is the server's `Retry-After`.
    pub(crate) fn allow(self, failures: u32, started: Instant, wait: Duration, asked: Option<Duration>) -> bool {
        let is_acceptable = asked.is_none_or(|asked| asked <= self.longest_wait);
        // A try that ends before its answer comes would replace the last refusal, which says that nothing was stored,
        // by an unknown result.
        let least = (self.within / 20).min(MIN_TRY_TIME);
        let until_answered = started.elapsed().saturating_add(wait).saturating_add(least);
        is_acceptable && failures < self.tries && until_answered < self.within
    }

    /// Returns the timeout of a try that starts now. `repeats`: whether another try may follow if no answer comes.
    pub(crate) fn time_of_try(self, started: Instant, repeats: bool) -> Duration {
        let one = if repeats && self.are_on() { self.within / SILENT_TRIES } else { self.within };
        self.within.saturating_sub(started.elapsed()).min(one).min(ANSWER_TIMEOUT)
    }

    /// Makes a call until it succeeds, or until it must not be retried.
    ///
    /// `wait`: how long the server is asked to wait before it answers; it doesn't count as time of the retries.
    /// `may_repeat`: after which errors another try does no harm. `call` gets its timeout, and the rest of `wait`,
    /// which the timeout includes.
    pub(crate) async fn run<T, F: Future<Output = Result<T, ClientError>>>(
        self,
        wait: Duration,
        may_repeat: fn(&ClientError) -> bool,
        call: impl Fn(Duration, Duration) -> F,
    ) -> Result<T, ClientError> {
        let wait_ends = Instant::now().checked_add(wait);
        let mut started = Instant::now();
        let repeats = may_repeat(&ClientError::Silent(Duration::ZERO));
        let mut failures = 0;
        loop {
            let try_started = Instant::now();
            let left = wait_ends.map_or(wait, |end| end.saturating_duration_since(try_started));
            let error = match call(self.time_of_try(started, repeats).saturating_add(left), left).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            started += try_started.elapsed().min(left);
            let wait = backoff(error.retry_after(), failures, fastrand::f64());
            failures += 1;
            if !self.allow(failures, started, wait, error.retry_after()) || !error.is_retryable() || !may_repeat(&error)
            {
                return Err(error);
            }
            sleep(wait).await;
        }
    }
}

impl Default for Retries {
    /// A minute, and a hundred tries.
    fn default() -> Self {
        Self::within(Duration::from_secs(60)).at_most(100)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use http::StatusCode;
    use serde_json::json;

    use super::*;
    use crate::problem::Problem;

    fn refused(status: u16, wait_ms: u64) -> ClientError {
        let status = StatusCode::from_u16(status).unwrap_or_default();
        Problem::of_document(status, json!({"retry_after_ms": wait_ms})).into()
    }

    /// How many tries there were.
    async fn tries(retries: Retries, may_repeat: fn(&ClientError) -> bool, error: fn() -> ClientError) -> u32 {
        let tries = Cell::new(0);
        let call = |_, _| {
            tries.set(tries.get() + 1);
            std::future::ready(Err::<(), _>(error()))
        };
        assert!(retries.run(Duration::ZERO, may_repeat, call).await.is_err());
        tries.get()
    }

    #[tokio::test]
    async fn tries_are_bounded_by_number_and_time() {
        let minute = Retries::within(Duration::from_secs(60));
        assert_eq!(tries(minute.at_most(3), |_| true, || refused(429, 1)).await, 3);
        assert_eq!(tries(Retries::NONE, |_| true, || refused(429, 1)).await, 1);
        assert_eq!(tries(minute, |_| true, || refused(429, 60_001)).await, 1);
        assert!(tries(Retries::within(Duration::from_millis(30)), |_| true, || refused(503, 1)).await > 1);
    }

    #[tokio::test]
    async fn a_longer_wait_than_the_longest_one_ends_the_tries() {
        let endless = Retries::within(Duration::MAX).at_most(3);
        assert_eq!(tries(endless.longest_wait(Duration::ZERO), |_| true, || refused(429, 1)).await, 1);
        assert_eq!(tries(endless.longest_wait(Duration::from_millis(1)), |_| true, || refused(429, 1)).await, 3);
        assert_eq!(tries(endless, |_| true, || refused(429, 100_000_000)).await, 1);
        assert_eq!(
            tries(endless.longest_wait(Duration::ZERO), |_| true, || ClientError::Silent(Duration::ZERO)).await,
            3
        );
    }

    #[test]
    fn no_try_begins_that_is_over_before_it_can_be_answered() {
        let (ten, started) = (Retries::within(Duration::from_secs(10)), Instant::now());
        let allows = |retries: Retries, ms| retries.allow(1, started, Duration::from_millis(ms), None);
        assert!(allows(ten, 1000) && !allows(ten, 9501));
        assert!(!allows(Retries::within(Duration::from_millis(100)), 95));
        assert!(allows(Retries::within(Duration::MAX), u64::MAX));
    }

    #[tokio::test]
    async fn permanent_errors_are_not_retried() {
        let minute = Retries::within(Duration::from_secs(60));
        assert_eq!(tries(minute, |_| true, || refused(422, 1)).await, 1);
        assert_eq!(tries(minute, ClientError::is_answered, || ClientError::Silent(Duration::ZERO)).await, 1);
    }
}
