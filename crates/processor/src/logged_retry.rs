//! Retries with backoff while Redis, or this machine, refuses; logged once at the beginning and once at the end. Where
//! Redis doesn't answer, that is so in all loops of all buckets: one of them reports it, also soon after another time
//! if it lasts.

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
}

struct Failing {
    since: Instant,
    waits: ExponentialBackoff,
    is_reported: bool,
}

impl LoggedRetry {
    /// `doing` completes the sentence "this replica can't …".
    pub(crate) const fn new(bucket: BucketName, doing: &'static str) -> Self {
        Self { bucket, doing, failing: None }
    }

    /// Notes a failure, and shows how long to wait before the next try.
    pub(crate) fn failed(&mut self, error: &(dyn Error + 'static)) -> Duration {
        let failing = self.failing.get_or_insert_with(|| {
            let (bucket, doing) = (&self.bucket, self.doing);
            let is_reported = if !is_unanswered(error) {
                tracing::warn!(%bucket, error, "this replica can't {doing}; retrying");
                true
            } else if OUTAGE.came().is_some() {
                let rest = "what else it can't do is at level debug";
                tracing::warn!(%bucket, error, "this replica can't {doing}; retrying; {rest}");
                true
            } else {
                tracing::debug!(%bucket, error, "this replica can't {doing}; retrying");
                false
            };
            Failing { since: Instant::now(), waits: waits(), is_reported }
        });
        if !failing.is_reported && OUTAGE.goes_on(failing.since.elapsed()).is_some() {
            let (bucket, doing) = (&self.bucket, self.doing);
            tracing::warn!(%bucket, error, "this replica still can't {doing}; retrying");
            failing.is_reported = true;
        }
        failing.waits.next().unwrap_or(LONGEST_WAIT)
    }

    /// Notes a success.
    pub(crate) fn over(&mut self) {
        if let Some(Failing { since, is_reported, .. }) = self.failing.take() {
            let (bucket, doing, seconds) = (&self.bucket, self.doing, since.elapsed().as_secs_f64());
            if is_reported {
                OUTAGE.seems_over();
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
