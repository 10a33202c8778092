//! Deletes expired records in intakes too, so that they expire while no processor runs.

use std::convert::Infallible;
use std::time::Duration;

use dripfeed_bucket::{Bucket, Buckets};

use super::upkeep;

const EVERY: Duration = Duration::from_secs(3);

pub(super) async fn keep(buckets: &Buckets) -> Infallible {
    loop {
        tokio::time::sleep(EVERY).await;
        upkeep::for_each(buckets, "could not delete expired records", Bucket::enforce_retention).await;
    }
}
