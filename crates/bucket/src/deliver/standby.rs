//! Standby: a process that serves an idle bucket isn't a member of its consumer group and costs Redis only a periodic
//! check. While a bucket has a job, waiting, parked or in flight, all processes that serve it are members, so that jobs
//! to recover are noticed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dripfeed_job::duration::ms_up;
use dripfeed_store::{Bell, Ring, Store};

use crate::bucket::Bucket;
use crate::deliver::replica::{Consumer, Life, Replica};
use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::Scripts;
use crate::settings::Kind;

static SCRIPT: Scripts = Scripts::new("standby", include_str!("standby.lua"));

/// Between two looks.
const LOOK: Duration = Duration::from_mins(1);
/// Who wasn't noted for so long is gone: three looks.
const SILENCE: Duration = Duration::from_mins(3);

/// A process on standby for a bucket, until it joins again.
pub struct Standby {
    redis_bucket: Arc<RedisBucket>,
    name: Consumer,
    new_jobs: Bell,
    /// When this process last asked for jobs here, or began to serve: what the pace has regained since is bounded by
    /// that.
    asked: Instant,
    life: Life,
    /// Whether others were members at the last look.
    had_members: AtomicBool,
}

impl Replica {
    /// Leaves an idle bucket. The first check finds jobs that were added meanwhile.
    ///
    /// # Errors
    /// As [`Replica::leave`].
    pub async fn stand_by(&self) -> Result<Standby, BucketError> {
        let new_jobs = self.new_jobs();
        self.leave().await?;
        Ok(Standby {
            redis_bucket: self.redis_bucket().clone(),
            name: self.consumer().clone(),
            new_jobs,
            asked: self.asked(),
            life: Life::Again,
            had_members: AtomicBool::new(false),
        })
    }
}

impl Bucket {
    /// Starts on standby; the process joins when a check finds that it should.
    #[must_use]
    pub fn stand_by(&self, name: Consumer) -> Standby {
        let redis_bucket = self.redis_bucket.clone();
        let new_jobs = redis_bucket.new_jobs();
        // Where others are members it is to be one, too, and at once.
        let (asked, had_members) = (Instant::now(), AtomicBool::new(true));
        Standby { redis_bucket, name, new_jobs, asked, life: Life::First, had_members }
    }
}

impl Standby {
    /// Waits for a message that jobs were added. [`with_jobs`] covers lost messages and entries of a plain `XADD`.
    /// Cancel-safe.
    pub async fn called(&self) {
        let mut new_jobs = self.new_jobs.clone();
        while new_jobs.rung().await == Ring::Missed {}
    }

    /// The time until the next check, which is randomized.
    #[must_use]
    pub fn until_next_look(&self) -> Duration {
        LOOK.mul_f64(0.75 + fastrand::f64() / 2.0)
    }

    /// Notes that this process still serves the bucket. Whether it should join: jobs are there, or somebody has been a
    /// member for longer than a bucket without jobs has any, who may be dead.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn look(&self) -> Result<bool, BucketError> {
        let keys = &self.redis_bucket.keys;
        let keys = keys.and_takers(vec![keys.jobs(), keys.replicas(), keys.standby(), keys.pace_tiers()]);
        let mut call = SCRIPT.of(self.redis_bucket.kind).on(&keys);
        call.arg(self.name.as_str()).arg(ms_up(SILENCE));
        let (level, members): (u64, u64) = self.redis_bucket.store.run(&call).await?;
        let had_members = self.had_members.swap(members > 0, Ordering::Relaxed);
        Ok(level > 0 || had_members && members > 0)
    }

    /// A member, under another name.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn join(&self, consumer: Consumer, lease: Duration) -> Result<Replica, BucketError> {
        let before = Some((self.name.as_str(), self.asked));
        Replica::join(&self.redis_bucket, consumer, lease, self.life, before).await
    }

    /// This process serves the bucket no more.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; then it is known for a while.
    pub async fn end(&self) -> Result<(), BucketError> {
        let mut forget = redis::cmd("HDEL");
        forget.arg(self.redis_bucket.keys.standby()).arg(self.name.as_str());
        self.redis_bucket.store.command::<u64>(&forget).await?;
        Ok(())
    }
}

/// The most buckets that are asked for in one round trip.
const AT_ONCE: usize = 200;

/// Which of the buckets have jobs. Buckets that can't be read are omitted.
///
/// # Errors
/// When Redis can't be reached, or doesn't answer in time.
pub async fn with_jobs(buckets: &[Bucket]) -> Result<Vec<bool>, BucketError> {
    let mut found = Vec::with_capacity(buckets.len());
    for some in buckets.chunks(AT_ONCE) {
        let Some(store) = some.first().map(|bucket| &bucket.redis_bucket.store) else { continue };
        let counted = if store.is_cluster() { None } else { count_together(store, some).await? };
        let counts = match counted {
            Some(counts) => counts,
            None => futures::future::join_all(some.iter().map(count)).await,
        };
        found.extend(counts.into_iter().map(|jobs| jobs > 0));
    }
    Ok(found)
}

/// None: one of them can't be counted, such as one whose key holds something else.
async fn count_together(store: &Store, buckets: &[Bucket]) -> Result<Option<Vec<u64>>, BucketError> {
    let mut pipeline = redis::Pipeline::with_capacity(buckets.len());
    for bucket in buckets {
        pipeline.add_command(count_of(bucket));
    }
    match store.pipeline(&pipeline).await {
        Ok(counts) => Ok(Some(counts)),
        Err(error) if error.is_unanswered() => Err(error.into()),
        Err(_) => Ok(None),
    }
}

async fn count(bucket: &Bucket) -> u64 {
    bucket.redis_bucket.store.command(&count_of(bucket)).await.unwrap_or(0)
}

/// What is claimed from a list isn't counted: who claimed it is a member.
fn count_of(bucket: &Bucket) -> redis::Cmd {
    let mut count = match bucket.redis_bucket.kind {
        Kind::Stream => redis::cmd("XLEN"),
        Kind::List => redis::cmd("LLEN"),
    };
    count.arg(bucket.redis_bucket.keys.jobs());
    count
}
