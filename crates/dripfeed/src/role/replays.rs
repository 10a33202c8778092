//! Replays of many whose intake is gone are carried on by another one.

use std::convert::Infallible;
use std::time::Duration;

use dripfeed_bucket::Buckets;

const EVERY: Duration = Duration::from_secs(3);

pub(super) async fn go_on(buckets: &Buckets) -> Infallible {
    loop {
        tokio::time::sleep(EVERY).await;
        for (name, bucket) in buckets.all().iter() {
            if let Err(error) = bucket.go_on_with_replays().await {
                // That Redis is away is reported by those who need it.
                tracing::debug!(
                    bucket = %name, error = &error as &dyn std::error::Error,
                    "replays weren't looked for"
                );
            }
        }
    }
}
