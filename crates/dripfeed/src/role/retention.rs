//! Ended work and idempotency keys are forgotten also where no processor runs.

use std::convert::Infallible;
use std::time::Duration;

use dripfeed_bucket::Buckets;

const EVERY: Duration = Duration::from_secs(3);

pub(super) async fn keep(buckets: &Buckets) -> Infallible {
    loop {
        tokio::time::sleep(EVERY).await;
        for (name, bucket) in buckets.all().iter() {
            if let Err(error) = bucket.enforce_retention().await {
                // That Redis is away is reported by those who need it.
                tracing::debug!(
                    bucket = %name, error = &error as &dyn std::error::Error,
                    "Ended work wasn't forgotten"
                );
            }
        }
    }
}
