//! Reads one count of each of many buckets, in few round trips.

use dripfeed_store::Store;
use futures::future::join_all;
use redis::{Cmd, Pipeline};

use crate::bucket::Bucket;
use crate::error::BucketError;

/// The maximum number of buckets in one round trip.
const AT_ONCE: usize = 200;

/// Returns the result of the command `of` for each bucket, in their order; 0 if the command fails, for example because
/// the key has another type.
///
/// # Errors
/// When Redis can't be reached, or doesn't answer in time.
pub(crate) async fn count_each(buckets: &[Bucket], of: fn(&Bucket) -> Cmd) -> Result<Vec<u64>, BucketError> {
    let mut counts = Vec::with_capacity(buckets.len());
    for some in buckets.chunks(AT_ONCE) {
        let Some(store) = some.first().map(|bucket| &bucket.redis_bucket.store) else { continue };
        let counted = if store.is_cluster() { None } else { count_together(store, some, of).await? };
        counts.extend(match counted {
            Some(counted) => counted,
            None => join_all(some.iter().map(|bucket| count(bucket, of))).await,
        });
    }
    Ok(counts)
}

/// Sends all commands in one pipeline. Returns `None` if one of them fails.
async fn count_together(
    store: &Store,
    buckets: &[Bucket],
    of: fn(&Bucket) -> Cmd,
) -> Result<Option<Vec<u64>>, BucketError> {
    let mut pipeline = Pipeline::with_capacity(buckets.len());
    for bucket in buckets {
        pipeline.add_command(of(bucket));
    }
    match store.pipeline(&pipeline).await {
        Ok(counts) => Ok(Some(counts)),
        Err(error) if error.is_unanswered() => Err(error.into()),
        Err(_) => Ok(None),
    }
}

async fn count(bucket: &Bucket, of: fn(&Bucket) -> Cmd) -> u64 {
    bucket.redis_bucket.store.command(&of(bucket)).await.unwrap_or(0)
}
