//! The registry of served buckets. A bucket that was removed from the configuration, or whose name, kind or key
//! changed, may have left accepted jobs in Redis that no process serves.

pub(crate) mod bucket_place;
mod forget_place;
pub(crate) mod register_places;
pub(crate) mod registered_places;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use dripfeed_job::BucketName;
use dripfeed_store::{ErrorKind, InstallationKeys, Store, StoreError};
use tokio::time::Instant;

use self::bucket_place::BucketPlace;
use self::forget_place::forget_place;
use self::register_places::register_places;
use self::registered_places::{RegisteredPlace, registered_places};
use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::settings::Kind;

/// The time of the last note (ms since the epoch) of a released place. Not 0, which an unreadable time is read as.
const LONG_AGO: u64 = 1;
/// During a long check, a process notes its places again after this time.
const NOTED_AGAIN: Duration = Duration::from_secs(5);

/// Accepted jobs that no process serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrandedJobs {
    pub place: BucketPlace,
    /// The key of the jobs.
    pub key: String,
    /// The number of jobs, including outcome jobs that wait for their target bucket.
    pub jobs: u64,
    /// The number of outcome jobs among these.
    pub outcome_jobs: u64,
    /// Another place of this name is in use, or has jobs, too: then the jobs of this one can only be moved.
    pub has_namesake: bool,
}

/// Returns the jobs in places that no process has in its settings any more. Such places without jobs are removed from
/// the registry. `configured`: the places of this process, which it has already noted.
///
/// # Errors
/// When Redis can't be asked.
pub async fn stranded_jobs(store: &Store, configured: &[BucketPlace]) -> Result<Vec<StrandedJobs>, BucketError> {
    let (mut noted, mut stranded) = (Instant::now(), Vec::new());
    let own: HashSet<&BucketPlace> = configured.iter().collect();
    let is_silent = |noted: &RegisteredPlace| !noted.is_served() && !own.contains(&noted.place);
    let places = registered_places(store).await?;
    let in_use: Vec<BucketPlace> =
        places.iter().filter(|noted| !is_silent(noted)).map(|noted| noted.place.clone()).collect();
    for silent in places.into_iter().filter(is_silent) {
        // Checking many places may take long: meanwhile the places of this process must not become silent.
        if noted.elapsed() > NOTED_AGAIN {
            register_places(store, configured).await?;
            noted = Instant::now();
        }
        let outcome_jobs = outcome_jobs_at(store, &silent.place).await?;
        let jobs = level_at(store, &silent.place).await? + outcome_jobs;
        if jobs > 0 {
            let (key, place) = (silent.place.jobs_key(store), silent.place);
            stranded.push(StrandedJobs { place, key, jobs, outcome_jobs, has_namesake: false });
        } else {
            forget_place(store, &silent).await?;
        }
    }
    let in_use = in_use.iter().chain(configured).map(|place| &place.bucket);
    let mut places_of = HashMap::<BucketName, usize>::new();
    for bucket in in_use.chain(stranded.iter().map(|found| &found.place.bucket)) {
        *places_of.entry(bucket.clone()).or_default() += 1;
    }
    for found in &mut stranded {
        found.has_namesake = places_of.get(&found.place.bucket).is_some_and(|places| *places > 1);
    }
    Ok(stranded)
}

/// Returns the number of registered places.
///
/// # Errors
/// When Redis can't be asked.
pub async fn count_places(store: &Store) -> Result<u64, BucketError> {
    let buckets = InstallationKeys::new(store.prefix()).buckets;
    Ok(store.command(redis::cmd("HLEN").arg(buckets)).await?)
}

/// Releases `place`, which no process has in its settings any more: its jobs are stranded from now on.
///
/// # Errors
/// When Redis can't be asked.
pub async fn release_place(store: &Store, place: &BucketPlace) -> Result<(), BucketError> {
    let buckets = InstallationKeys::new(store.prefix()).buckets;
    let is_empty = level_at(store, place).await? + outcome_jobs_at(store, place).await? == 0;
    let mut release = if is_empty { redis::cmd("HDEL") } else { redis::cmd("HSET") };
    release.arg(buckets).arg(place.to_string());
    if !is_empty {
        release.arg(LONG_AGO);
    }
    store.command::<u64>(&release).await?;
    Ok(())
}

impl Bucket {
    /// Returns whether both are the same bucket in Redis.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let place = |bucket: &Self| BucketPlace::from(&*bucket.settings());
        self.incarnation() == other.incarnation() && place(self) == place(other)
    }

    /// Returns the number of jobs in the bucket; cheaper than [`Census::level`](crate::Census::level).
    ///
    /// # Errors
    /// When Redis can't be asked.
    pub async fn level(&self) -> Result<u64, BucketError> {
        level_at(&self.redis_bucket.store, &BucketPlace::from(&*self.settings())).await
    }
}

/// Returns the number of jobs of a place.
///
/// # Errors
/// When Redis can't be asked.
pub async fn level_at(store: &Store, place: &BucketPlace) -> Result<u64, BucketError> {
    let keys = place.keys(store);
    let key = keys.jobs();
    Ok(match place.kind {
        Kind::Stream => or_none(store.command(redis::cmd("XLEN").arg(&key)).await)?,
        Kind::List => {
            let waiting: u64 = or_none(store.command(redis::cmd("LLEN").arg(&key)).await)?;
            let takers: HashMap<String, String> = store.command(redis::cmd("HGETALL").arg(keys.takers())).await?;
            // A count that isn't a number, written by hand, counts as 0.
            let held = takers.values().filter_map(|held| held.parse::<u64>().ok()).sum::<u64>();
            if held > 0 && is_list_elsewhere(store, place).await? { waiting } else { waiting + held }
        }
    })
}

/// Returns the number of outcome jobs that wait for their target bucket. All places of a name have one outbox.
///
/// # Errors
/// When Redis can't be asked.
pub async fn outcome_jobs_at(store: &Store, place: &BucketPlace) -> Result<u64, BucketError> {
    or_none(store.command(redis::cmd("XLEN").arg(place.keys(store).outbox())).await).map_err(Into::into)
}

/// Returns whether another list bucket of this name is served: it has, or will recover, all jobs claimed by replicas.
///
/// # Errors
/// When Redis can't be asked.
pub async fn is_list_elsewhere(store: &Store, place: &BucketPlace) -> Result<bool, BucketError> {
    let noted = registered_places(store).await?;
    Ok(noted.iter().any(|noted| {
        let other = &noted.place;
        noted.is_served() && other.kind == Kind::List && other.bucket == place.bucket && other != place
    }))
}

/// Counts 0 if the key is of a bucket of another kind.
fn or_none(level: Result<u64, StoreError>) -> Result<u64, StoreError> {
    match level {
        Err(error) if error.kind() == ErrorKind::WrongType => Ok(0),
        level => level,
    }
}
