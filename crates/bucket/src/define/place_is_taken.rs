//! What a name still has of a bucket that wasn't created over the API.

use dripfeed_job::BucketName;
use dripfeed_store::Store;

use crate::error::BucketError;
use crate::inspect::served::bucket_place::BucketPlace;
use crate::inspect::served::{level_at, outcome_jobs_at};
use crate::script::keys::Keys;
use crate::settings::Kind;

/// As in closed.lua.
const CLOSED: &str = "1";

/// What would be lost with a bucket that was configured once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftBehind {
    /// Or dead letters.
    Jobs,
    Schedules,
    /// In its outbox.
    OutcomeJobs,
    /// That haven't expired: the same submission would be accepted a second time.
    IdempotencyKeys,
}

/// What is left of a bucket of this name that was configured once, but for outcomes. None: nothing, or the bucket was
/// created over the API.
///
/// # Errors
/// When Redis can't be reached, refuses, or doesn't answer in time.
pub async fn place_is_taken(store: &Store, bucket: &BucketName) -> Result<Option<LeftBehind>, BucketError> {
    let keys = Keys::new(store.prefix(), bucket, None, Kind::Stream);
    let mut created = redis::cmd("HMGET");
    created.arg(keys.control()).arg("incarnation").arg("closed");
    let (incarnation, closed): (Option<String>, Option<String>) = store.command(&created).await?;
    // What a deleted one had is gone by then: what is there came later, with the configuration.
    if incarnation.is_some() && closed.as_deref() != Some(CLOSED) {
        return Ok(None);
    }
    let place = |kind| BucketPlace { bucket: bucket.clone(), kind, key: None };
    let mut jobs: u64 = store.command(redis::cmd("XLEN").arg(keys.dead())).await?;
    for kind in [Kind::Stream, Kind::List] {
        jobs += level_at(store, &place(kind)).await?;
    }
    if jobs > 0 {
        return Ok(Some(LeftBehind::Jobs));
    }
    let schedules: u64 = store.command(redis::cmd("HLEN").arg(keys.schedules())).await?;
    if schedules > 0 {
        return Ok(Some(LeftBehind::Schedules));
    }
    if outcome_jobs_at(store, &place(Kind::Stream)).await? > 0 {
        return Ok(Some(LeftBehind::OutcomeJobs));
    }
    Ok((idempotency_keys(store, &keys).await? > 0).then_some(LeftBehind::IdempotencyKeys))
}

/// How many haven't expired.
async fn idempotency_keys(store: &Store, keys: &Keys) -> Result<u64, BucketError> {
    // Of jobs that somebody deleted by hand: their time hasn't begun.
    let of_jobs: u64 = store.command(redis::cmd("HLEN").arg(keys.keyed_jobs())).await?;
    let (seconds, _): (u64, u64) = store.command(&redis::cmd("TIME")).await?;
    let mut count = redis::cmd("ZCOUNT");
    count.arg(keys.key_ends()).arg(seconds * 1000).arg("+inf");
    Ok(of_jobs + store.command::<u64>(&count).await?)
}
