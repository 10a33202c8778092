//! The buckets that this installation has served. One that was taken out of the settings, or was given another name,
//! kind or key there, may have left accepted jobs in Redis that no process looks at.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use dripfeed_job::BucketName;
use dripfeed_job::duration::ms_up;
use dripfeed_store::{ErrorKind, InstallationKeys, Script, Store, StoreError};
use redis::Value;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::keys::Keys;
use crate::script::reply::Reply;
use crate::settings::{BucketSettings, Kind};

static SCRIPT: Script = Script::new("served", &[], include_str!("served.lua"));
static PLACES: Script = Script::new("places", &[], include_str!("places.lua"));

/// A bucket is served no more when no process has had it among its settings for so long: three looks of a process.
const SILENCE: Duration = Duration::from_secs(15);
/// When a place that nobody has any more counts as noted, ms since the epoch: 0 is what can't be read.
const LONG_AGO: u64 = 1;
/// The most that are kept. Of further ones jobs that are left behind aren't found.
const MOST: usize = 1000;

/// Where a bucket's jobs lie in Redis. As text: name, kind and key, parted by spaces.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BucketPlace {
    pub bucket: BucketName,
    pub kind: Kind,
    /// None: `prefix:{bucket}:jobs`.
    pub key: Option<String>,
}

/// A place that processes have had among their settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotedPlace {
    pub place: BucketPlace,
    /// When a process last noted it, ms of the Redis clock.
    pub noted_ms: u64,
    /// How long ago that was.
    pub silent_for: Duration,
}

impl NotedPlace {
    /// Whether a process may have it among its settings now.
    #[must_use]
    pub fn is_served(&self) -> bool {
        self.silent_for < SILENCE
    }
}

/// Accepted jobs that no process looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StrandedJobs {
    pub place: BucketPlace,
    /// The key that they are in.
    pub key: String,
    /// Outcome jobs that wait for their bucket, too.
    pub jobs: u64,
}

impl From<&BucketSettings> for BucketPlace {
    fn from(settings: &BucketSettings) -> Self {
        Self { bucket: settings.name.clone(), kind: settings.kind, key: settings.key.clone() }
    }
}

impl BucketPlace {
    /// The key that its jobs are in, below the prefix of `store`.
    #[must_use]
    pub fn jobs_key(&self, store: &Store) -> String {
        self.keys(store).jobs()
    }

    fn keys(&self, store: &Store) -> Keys {
        Keys::new(store.prefix(), &self.bucket, self.key.as_deref(), self.kind)
    }
}

impl fmt::Display for BucketPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.bucket, self.kind.as_str(), self.key.as_deref().unwrap_or_default())
    }
}

impl FromStr for BucketPlace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words = text.splitn(3, ' ');
        let mut word = || words.next().ok_or(());
        let bucket = word()?.parse().map_err(|_| ())?;
        let kind = word()?;
        let kind = [Kind::Stream, Kind::List].into_iter().find(|known| known.as_str() == kind).ok_or(())?;
        let key = word()?;
        Ok(Self { bucket, kind, key: (!key.is_empty()).then(|| key.to_owned()) })
    }
}

/// Notes that this process has the buckets of `configured` among its settings (none: it only asks), and returns the
/// jobs in those that no process has there any more. Such a bucket without jobs is forgotten.
///
/// # Errors
/// When Redis can't be asked.
pub async fn stranded_jobs(store: &Store, configured: &[BucketPlace]) -> Result<Vec<StrandedJobs>, BucketError> {
    let buckets = InstallationKeys::new(store.prefix()).buckets;
    let mut stranded = Vec::new();
    for text in silent_places(store, configured).await? {
        // Somebody else may have written it.
        let Ok(place) = text.parse::<BucketPlace>() else { continue };
        let jobs = left_at(store, &place).await?;
        if jobs > 0 {
            stranded.push(StrandedJobs { key: place.jobs_key(store), place, jobs });
        } else {
            let mut forget = redis::cmd("HDEL");
            forget.arg(&buckets).arg(text);
            store.command::<u64>(&forget).await?;
        }
    }
    Ok(stranded)
}

/// Notes that this process has `places` among its settings.
///
/// # Errors
/// When Redis can't be asked.
pub async fn note_places(store: &Store, places: &[BucketPlace]) -> Result<(), BucketError> {
    silent_places(store, places).await.map(drop)
}

/// All places that any process has noted, in the order of their names.
///
/// # Errors
/// When Redis can't be asked.
pub async fn noted_places(store: &Store) -> Result<Vec<NotedPlace>, BucketError> {
    let call = PLACES.on(&[InstallationKeys::new(store.prefix()).buckets]);
    let mut reply = Reply::new("places", store.run::<Value>(&call).await?)?;
    let now_ms = reply.count()?;
    let noted = reply.array()?.fields()?.into_iter().filter_map(|(text, noted_ms)| {
        // Somebody else may have written it.
        let place = text.parse().ok()?;
        let noted_ms = noted_ms.parse().unwrap_or(0);
        Some(NotedPlace { place, noted_ms, silent_for: Duration::from_millis(now_ms.abs_diff(noted_ms)) })
    });
    let mut places: Vec<NotedPlace> = noted.collect();
    places.sort_by(|one, other| one.place.cmp(&other.place));
    Ok(places)
}

/// This process has `place` among its settings no more, nor has another: what is left there is stranded from now on.
///
/// # Errors
/// When Redis can't be asked.
pub async fn release_place(store: &Store, place: &BucketPlace) -> Result<(), BucketError> {
    let buckets = InstallationKeys::new(store.prefix()).buckets;
    let is_empty = left_at(store, place).await? == 0;
    let mut release = if is_empty { redis::cmd("HDEL") } else { redis::cmd("HSET") };
    release.arg(buckets).arg(place.to_string());
    if !is_empty {
        release.arg(LONG_AGO);
    }
    store.command::<u64>(&release).await?;
    Ok(())
}

impl Bucket {
    /// Whether both are one in Redis.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let place = |bucket: &Self| BucketPlace::from(&*bucket.settings());
        self.incarnation() == other.incarnation() && place(self) == place(other)
    }

    /// How many jobs are in the bucket. As [`Census::level`](crate::Census::level), for less.
    ///
    /// # Errors
    /// When Redis can't be asked.
    pub async fn level(&self) -> Result<u64, BucketError> {
        level_at(&self.redis_bucket.store, &BucketPlace::from(&*self.settings())).await
    }
}

async fn silent_places(store: &Store, configured: &[BucketPlace]) -> Result<Vec<String>, BucketError> {
    let mut call = SCRIPT.on(&[InstallationKeys::new(store.prefix()).buckets]);
    call.arg(ms_up(SILENCE)).arg(MOST);
    for place in configured {
        call.arg(place.to_string());
    }
    Ok(store.run(&call).await?)
}

/// How many jobs are there.
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
            let takers: HashMap<String, u64> = store.command(redis::cmd("HGETALL").arg(keys.takers())).await?;
            let held = takers.values().sum::<u64>();
            if held > 0 && is_list_elsewhere(store, place).await? { waiting } else { waiting + held }
        }
    })
}

/// How many jobs are there, and outcome jobs that wait for their bucket.
async fn left_at(store: &Store, place: &BucketPlace) -> Result<u64, BucketError> {
    let outbox = or_none(store.command(redis::cmd("XLEN").arg(place.keys(store).outbox())).await)?;
    Ok(level_at(store, place).await? + outbox)
}

/// Whether another list bucket of this name is served: what replicas hold is its own then, or will be when they die.
///
/// # Errors
/// When Redis can't be asked.
pub async fn is_list_elsewhere(store: &Store, place: &BucketPlace) -> Result<bool, BucketError> {
    let noted = noted_places(store).await?;
    Ok(noted.iter().any(|noted| {
        let other = &noted.place;
        noted.is_served() && other.kind == Kind::List && other.bucket == place.bucket && other != place
    }))
}

/// Where a key holds another kind of bucket, none exists of this kind.
fn or_none(level: Result<u64, StoreError>) -> Result<u64, StoreError> {
    match level {
        Err(error) if error.kind() == ErrorKind::WrongType => Ok(0),
        level => level,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_back_as_it_was_written() {
        for text in ["mail stream ", "mail list x:rl:zewtopia.com/tigerfeeding"] {
            assert_eq!(text.parse::<BucketPlace>().map(|place| place.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "mail", "mail stream", "mail heap ", "a{b} stream "] {
            assert_eq!(text.parse::<BucketPlace>(), Err(()), "{text}");
        }
    }
}
