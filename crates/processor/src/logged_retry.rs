//! Retries with backoff while Redis, or this machine, refuses; logged once at the beginning and once at the end.

use std::error::Error;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use dripfeed_job::BucketName;
use tokio::time::Instant;

/// Short enough to be at work within seconds of Redis being back.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// What one loop has seen of failures in a row.
pub(crate) struct LoggedRetry {
    bucket: BucketName,
    doing: &'static str,
    begun: Option<(Instant, ExponentialBackoff)>,
}

impl LoggedRetry {
    /// `doing` completes the sentence "this replica can't …".
    pub(crate) const fn new(bucket: BucketName, doing: &'static str) -> Self {
        Self { bucket, doing, begun: None }
    }

    /// Notes a failure, and shows how long to wait before the next try.
    pub(crate) fn failed(&mut self, error: &(dyn Error + 'static)) -> Duration {
        let (_, waits) = self.begun.get_or_insert_with(|| {
            let (bucket, doing) = (&self.bucket, self.doing);
            tracing::warn!(%bucket, error, "this replica can't {doing}; retrying");
            (Instant::now(), waits())
        });
        waits.next().unwrap_or(LONGEST_WAIT)
    }

    /// Notes a success.
    pub(crate) fn over(&mut self) {
        if let Some((begun, _)) = self.begun.take() {
            let seconds = begun.elapsed().as_secs_f64();
            tracing::info!(bucket = %self.bucket, seconds, "this replica can {} again", self.doing);
        }
    }
}

fn waits() -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(FIRST_WAIT)
        .with_max_delay(LONGEST_WAIT)
        .with_jitter()
        .without_max_times()
        .build()
}
