//! Deletes expired records and ends overdue jobs in intakes, too, so that this happens while no processor runs.

use std::convert::Infallible;
use std::time::Duration;

use dripfeed_bucket::{Bucket, Buckets, Retention};
use dripfeed_intake::metrics::IntakeMetrics;

use super::upkeep::Upkeep;

const EVERY: Duration = Duration::from_secs(3);

pub(super) async fn keep(buckets: &Buckets, metrics: &IntakeMetrics) -> Infallible {
    let count = |bucket: &Bucket, retention: Retention| metrics.expired(bucket.name(), retention.expired);
    let mut upkeep = Upkeep::new("could not delete expired records");
    loop {
        tokio::time::sleep(EVERY).await;
        Box::pin(upkeep.round(buckets, Bucket::enforce_retention, count)).await;
    }
}
