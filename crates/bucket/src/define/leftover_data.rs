//! Checks whether a name still has data of a bucket that wasn't created over the API.

use dripfeed_job::BucketName;
use dripfeed_store::Store;

use crate::error::BucketError;
use crate::inspect::served::bucket_place::BucketPlace;
use crate::inspect::served::{level_at, outcome_jobs_at};
use crate::script::keys::Keys;
use crate::settings::Kind;

/// The value of `closed` of a deleted bucket, as in closed.lua.
const CLOSED: &str = "1";

/// Data of a bucket of the configuration that would be lost if its name was used over the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftoverData {
    /// Jobs or dead letters.
    Jobs,
    Schedules,
    /// Outcome jobs in the outbox.
    OutcomeJobs,
    /// Idempotency keys that haven't expired: without them a repeated submission would be accepted a second time.
    IdempotencyKeys,
}

/// Returns what a bucket of the configuration has left under this name; outcomes don't count. Returns `None` if nothing
/// is left, or if the bucket was created over the API.
///
/// # Errors
/// When Redis can't be reached, refuses, or doesn't answer in time.
pub async fn leftover_data(store: &Store, bucket: &BucketName) -> Result<Option<LeftoverData>, BucketError> {
    let keys = Keys::new(store.prefix(), bucket, None, Kind::Stream);
    let mut created = redis::cmd("HMGET");
    created.arg(keys.control()).arg("incarnation").arg("closed");
    let (incarnation, closed): (Option<String>, Option<String>) = store.command(&created).await?;
    // The data of a deleted bucket is gone: what exists now was left by a later bucket of the configuration.
    if incarnation.is_some() && closed.as_deref() != Some(CLOSED) {
        return Ok(None);
    }
    let place = |kind| BucketPlace { bucket: bucket.clone(), kind, key: None };
    let mut jobs: u64 = store.command(redis::cmd("XLEN").arg(keys.dead())).await?;
    for kind in [Kind::Stream, Kind::List] {
        jobs += level_at(store, &place(kind)).await?;
    }
    if jobs > 0 {
        return Ok(Some(LeftoverData::Jobs));
    }
    let schedules: u64 = store.command(redis::cmd("HLEN").arg(keys.schedules())).await?;
    if schedules > 0 {
        return Ok(Some(LeftoverData::Schedules));
    }
    if outcome_jobs_at(store, &place(Kind::Stream)).await? > 0 {
        return Ok(Some(LeftoverData::OutcomeJobs));
    }
    Ok((idempotency_keys(store, &keys).await? > 0).then_some(LeftoverData::IdempotencyKeys))
}

/// The number of idempotency keys that haven't expired.
async fn idempotency_keys(store: &Store, keys: &Keys) -> Result<u64, BucketError> {
    // The bucket has no jobs, so these are keys of jobs that somebody deleted by hand: their retention hasn't begun.
    let of_jobs: u64 = store.command(redis::cmd("HLEN").arg(keys.keyed_jobs())).await?;
    let (seconds, _): (u64, u64) = store.command(&redis::cmd("TIME")).await?;
    let mut count = redis::cmd("ZCOUNT");
    count.arg(keys.key_ends()).arg(seconds * 1000).arg("+inf");
    Ok(of_jobs + store.command::<u64>(&count).await?)
}
