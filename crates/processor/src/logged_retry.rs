//! Retries with backoff while Redis, or this machine, refuses; logged once at the beginning and once at the end, and
//! once a minute where it comes and goes. Where Redis doesn't answer, that is so in all loops of all buckets: one of
//! them reports it. What comes back soon after another time is reported if it lasts.

use std::error::Error;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use dripfeed_bucket::BucketError;
use dripfeed_job::BucketName;
use dripfeed_store::Trouble;
use tokio::time::Instant;

/// Short enough to be at work within seconds of Redis being back.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// Of this process.
static OUTAGE: Trouble = Trouble::new();

/// What one loop has seen of failures in a row.
pub(crate) struct LoggedRetry {
    bucket: BucketName,
    doing: &'static str,
    failing: Option<Failing>,
    /// What Redis refuses this loop alone. None yet: most loops never have any.
    refusals: Option<Box<Trouble>>,
}

struct Failing {
    since: Instant,
    waits: ExponentialBackoff,
    is_reported: bool,
    /// As an outage, not as a refusal.
    is_outage: bool,
}

impl LoggedRetry {
    /// `doing` completes the sentence "this replica can't …".
    pub(crate) const fn new(bucket: BucketName, doing: &'static str) -> Self {
        Self { bucket, doing, failing: None, refusals: None }
    }

    /// Notes a failure, and shows how long to wait before the next try.
    pub(crate) fn failed(&mut self, error: &(dyn Error + 'static)) -> Duration {
        let (bucket, doing, is_outage) = (&self.bucket, self.doing, is_unanswered(error));
        let trouble: &Trouble = if is_outage { &OUTAGE } else { self.refusals.get_or_insert_default() };
        let failing = self.failing.get_or_insert_with(|| {
            let is_reported = trouble.came().is_some();
            if !is_reported {
                tracing::debug!(%bucket, error, "this replica can't {doing}; retrying");
            } else if is_outage {
                let rest = "what else it can't do is at level debug";
                tracing::warn!(%bucket, error, "this replica can't {doing}; retrying; {rest}");
            } else {
                tracing::warn!(%bucket, error, "this replica can't {doing}; retrying");
            }
            Failing { since: Instant::now(), waits: waits(), is_reported, is_outage }
        });
        if !failing.is_reported && trouble.goes_on(failing.since.elapsed()).is_some() {
            tracing::warn!(%bucket, error, "this replica still can't {doing}; retrying");
            (failing.is_reported, failing.is_outage) = (true, is_outage);
        }
        failing.waits.next().unwrap_or(LONGEST_WAIT)
    }

    /// Notes a success.
    pub(crate) fn over(&mut self) {
        if let Some(Failing { since, is_reported, is_outage, .. }) = self.failing.take() {
            let (bucket, doing, seconds) = (&self.bucket, self.doing, since.elapsed().as_secs_f64());
            if is_reported {
                if let Some(trouble) = if is_outage { Some(&OUTAGE) } else { self.refusals.as_deref() } {
                    trouble.seems_over();
                }
                tracing::info!(%bucket, seconds, "this replica can {doing} again");
            } else {
                tracing::debug!(%bucket, seconds, "this replica can {doing} again");
            }
        }
    }
}

fn is_unanswered(error: &(dyn Error + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(BucketError::Store(error)) if error.is_unanswered())
}

fn waits() -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(FIRST_WAIT)
        .with_max_delay(LONGEST_WAIT)
        .with_jitter()
        .without_max_times()
        .build()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn is_reported(retry: &mut LoggedRetry) -> bool {
        retry.failed(&BucketError::Gone);
        retry.failing.as_ref().is_some_and(|failing| failing.is_reported)
    }

    #[test]
    fn a_refusal_that_comes_and_goes_is_one_line_within_a_minute() {
        let retry = |bucket: &str| LoggedRetry::new(bucket.parse().unwrap(), "claim jobs");
        let mut flapping = retry("b");
        let lines = std::iter::repeat_with(|| {
            let line = is_reported(&mut flapping);
            flapping.over();
            line
        });
        assert_eq!(lines.take(5).collect::<Vec<_>>(), [true, false, false, false, false]);
        assert!(is_reported(&mut retry("c")), "of another bucket");
    }
}
