//! Continues background replays whose intake has died.

use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketError, Buckets, with_replays};
use dripfeed_intake::metrics::IntakeMetrics;
use tokio::time::sleep;

const EVERY: Duration = Duration::from_secs(3);
/// Buckets that are asked for together, and the pause before the next ones.
const AT_ONCE: usize = 100;
const APART: Duration = Duration::from_millis(100);

pub(super) async fn go_on(buckets: &Buckets, metrics: &IntakeMetrics) -> Infallible {
    loop {
        sleep(EVERY).await;
        let all: Vec<Bucket> = buckets.all().values().cloned().collect();
        for some in all.chunks(AT_ONCE) {
            // That Redis is away is reported by those who need it.
            if let Err(error) = go_on_with_those_of(some, metrics).await {
                tracing::debug!(error = &error as &dyn Error, "could not read background replays from Redis");
            }
            sleep(APART).await;
        }
    }
}

async fn go_on_with_those_of(buckets: &[Bucket], metrics: &IntakeMetrics) -> Result<(), BucketError> {
    let found = with_replays(buckets).await?;
    for (bucket, _) in buckets.iter().zip(found).filter(|(_, has_replays)| *has_replays) {
        // Boxed: it would make the future of the role a large one.
        Box::pin(bucket.go_on_with_replays(metrics.counts_accepted(bucket.name()))).await?;
    }
    Ok(())
}
