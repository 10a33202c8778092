//! Resumes background replays whose intake has died.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketError, Buckets, with_replays};
use dripfeed_intake::metrics::IntakeMetrics;
use tokio::time::sleep;

const EVERY: Duration = Duration::from_secs(3);
/// The number of buckets per pipeline, and the pause between two pipelines.
const CHUNK: usize = 100;
const PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn keep_resuming(buckets: &Arc<Buckets>, metrics: &IntakeMetrics) -> Infallible {
    loop {
        sleep(EVERY).await;
        let all: Vec<Bucket> = buckets.all().values().cloned().collect();
        for chunk in all.chunks(CHUNK) {
            // The connection logs that Redis is unreachable.
            if let Err(error) = resume(chunk, buckets, metrics).await {
                tracing::debug!(error = &error as &dyn Error, "could not read background replays from Redis");
            }
            sleep(PAUSE).await;
        }
    }
}

async fn resume(some: &[Bucket], buckets: &Arc<Buckets>, metrics: &IntakeMetrics) -> Result<(), BucketError> {
    let found = with_replays(some).await?;
    for (bucket, _) in some.iter().zip(found).filter(|(_, has_replays)| *has_replays) {
        // Boxed to keep the future of the role small.
        let resumed = Box::pin(bucket.resume_replays(buckets, metrics.counts_accepted(bucket.name()))).await;
        // The next buckets may be on another server, or have other keys.
        if let Err(error) = resumed {
            let error = &error as &dyn Error;
            tracing::debug!(bucket = %bucket.name(), error, "could not resume background replays");
        }
    }
    Ok(())
}
