//! Periodic work of an intake for every bucket.

use std::error::Error;

use dripfeed_bucket::{Bucket, BucketError, Buckets};

/// Once for each bucket, one after the other. `failed`: what is logged of one for which it failed.
pub(super) async fn for_each<T>(
    buckets: &Buckets,
    failed: &'static str,
    work: impl AsyncFn(&Bucket) -> Result<T, BucketError>,
) {
    for (name, bucket) in buckets.all().iter() {
        // Boxed: it would make the future of the role a large one.
        if let Err(error) = Box::pin(work(bucket)).await {
            // That Redis is away is reported by those who need it.
            tracing::debug!(bucket = %name, error = &error as &dyn Error, "{failed}");
        }
    }
}
