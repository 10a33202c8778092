//! Whether a name still has jobs of a bucket that wasn't created over the API.

use dripfeed_job::BucketName;
use dripfeed_store::Store;

use crate::error::BucketError;
use crate::inspect::served::bucket_place::BucketPlace;
use crate::inspect::served::level_at;
use crate::script::keys::Keys;
use crate::settings::Kind;

/// Whether jobs or dead letters are there of a bucket of this name that was configured once. Of one that was deleted
/// there is nothing to lose.
///
/// # Errors
/// When Redis can't be reached, refuses, or doesn't answer in time.
pub async fn place_is_taken(store: &Store, bucket: &BucketName) -> Result<bool, BucketError> {
    let keys = Keys::new(store.prefix(), bucket, None, Kind::Stream);
    let incarnation: Option<String> = store.command(redis::cmd("HGET").arg(keys.control()).arg("incarnation")).await?;
    if incarnation.is_some() {
        return Ok(false);
    }
    let mut left: u64 = store.command(redis::cmd("XLEN").arg(keys.dead())).await?;
    for kind in [Kind::Stream, Kind::List] {
        left += level_at(store, &BucketPlace { bucket: bucket.clone(), kind, key: None }).await?;
    }
    Ok(left > 0)
}
