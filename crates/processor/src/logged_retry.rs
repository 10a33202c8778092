//! Backoff for a loop whose requests fail, with few log lines: one when the failures begin and one when they end, at
//! most once a minute if they come and go. An outage of Redis affects all loops of all buckets, so only one of them
//! logs it.

use std::error::Error;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use dripfeed_bucket::BucketError;
use dripfeed_job::BucketName;
use dripfeed_store::RecurringFailure;
use tokio::time::Instant;

/// Short, so that work goes on within seconds after an outage.
const MAX_BACKOFF: Duration = Duration::from_secs(1);
const MIN_BACKOFF: Duration = Duration::from_millis(50);

/// Shared by all loops of this process.
static OUTAGE: RecurringFailure = RecurringFailure::new();

/// The consecutive failures of one loop.
pub(crate) struct LoggedRetry {
    bucket: BucketName,
    doing: &'static str,
    failing: Option<Failing>,
    /// Errors that Redis answered to this loop. Created when needed, as most loops never have any.
    refusals: Option<Box<RecurringFailure>>,
}

struct Failing {
    since: Instant,
    backoff: ExponentialBackoff,
    is_reported: bool,
    /// Whether it was reported as an outage of Redis.
    is_outage: bool,
}

impl LoggedRetry {
    /// `doing` completes the sentence "this replica can't …".
    pub(crate) const fn new(bucket: BucketName, doing: &'static str) -> Self {
        Self { bucket, doing, failing: None, refusals: None }
    }

    /// Logs a failure if it is due, and returns how long to wait before the next try.
    pub(crate) fn failed(&mut self, error: &(dyn Error + 'static)) -> Duration {
        let (bucket, doing, is_outage) = (&self.bucket, self.doing, is_unanswered(error));
        let failure: &RecurringFailure = if is_outage { &OUTAGE } else { self.refusals.get_or_insert_default() };
        let failing = self.failing.get_or_insert_with(|| {
            let is_reported = failure.occurred().is_some();
            if !is_reported {
                tracing::debug!(%bucket, error, "this replica can't {doing}; retrying");
            } else if is_outage {
                let rest = "what else it can't do is at level debug";
                tracing::warn!(%bucket, error, "this replica can't {doing}; retrying; {rest}");
            } else {
                tracing::warn!(%bucket, error, "this replica can't {doing}; retrying");
            }
            Failing { since: Instant::now(), backoff: backoff(), is_reported, is_outage }
        });
        if !failing.is_reported && failure.occurred_for(failing.since.elapsed()).is_some() {
            tracing::warn!(%bucket, error, "this replica still can't {doing}; retrying");
            (failing.is_reported, failing.is_outage) = (true, is_outage);
        }
        failing.backoff.next().unwrap_or(MAX_BACKOFF)
    }

    pub(crate) fn succeeded(&mut self) {
        if let Some(Failing { since, is_reported, is_outage, .. }) = self.failing.take() {
            let (bucket, doing, seconds) = (&self.bucket, self.doing, since.elapsed().as_secs_f64());
            if is_reported {
                if let Some(failure) = if is_outage { Some(&OUTAGE) } else { self.refusals.as_deref() } {
                    failure.recovered();
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

fn backoff() -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(MIN_BACKOFF)
        .with_max_delay(MAX_BACKOFF)
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
            flapping.succeeded();
            line
        });
        assert_eq!(lines.take(5).collect::<Vec<_>>(), [true, false, false, false, false]);
        assert!(is_reported(&mut retry("c")), "of another bucket");
    }
}
