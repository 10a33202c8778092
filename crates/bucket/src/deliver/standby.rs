//! Standby: a process that serves an idle bucket isn't a member of its consumer group and costs Redis only a periodic
//! check. While a bucket has a job, waiting, parked or in flight, all processes that serve it are members, so that jobs
//! to recover are noticed.

pub(crate) mod sweeper;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dripfeed_job::duration::ms_up;
use dripfeed_store::{Bell, Ring};

use crate::bucket::Bucket;
use crate::deliver::join::JoinRequest;
use crate::deliver::replica::{Consumer, Life, Replica};
use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::Scripts;

pub(crate) static SCRIPT: Scripts = Scripts::new("standby", include_str!("standby.lua"));

/// Time between two checks of a bucket, while a process is on standby for at most `FEW` buckets.
const LOOK: Duration = Duration::from_mins(1);
/// With more buckets, each is checked proportionally less often.
const FEW: u32 = 1000;
/// A process that wasn't noted for this many checks counts as gone.
const SILENCE: u32 = 3;

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
    /// What was announced since it began.
    #[must_use]
    pub fn announcements(&self) -> Announcements {
        Announcements(self.new_jobs.clone())
    }

    /// The time between two looks at a bucket, of a process that is on standby for as many.
    #[must_use]
    pub fn between_looks(buckets: u32) -> Duration {
        LOOK.mul_f64(f64::from(buckets.max(FEW)) / f64::from(FEW))
    }

    /// Notes that this process still serves the bucket. Whether it should join: jobs are there, or somebody has been a
    /// member for longer than a bucket without jobs has any, who may be dead. `next`: until the next look.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn look(&self, next: Duration) -> Result<bool, BucketError> {
        let keys = &self.redis_bucket.keys;
        let keys = keys.and_takers(vec![keys.jobs(), keys.replicas(), keys.standby(), keys.pace_tiers()]);
        let mut call = SCRIPT.of(self.redis_bucket.kind).on(&keys);
        call.arg(self.name.as_str()).arg(ms_up(next * SILENCE));
        let look = || async { Ok(self.redis_bucket.store.run(&call).await?) };
        let (level, members): (u64, u64) = self.redis_bucket.in_own_kind(look).await?;
        let had_members = self.had_members.swap(members > 0, Ordering::Relaxed);
        Ok(level > 0 || had_members && members > 0)
    }

    /// A member, under another name.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn join(&self, consumer: Consumer, lease: Duration) -> Result<Replica, BucketError> {
        self.request(consumer, lease).join(&self.redis_bucket).await
    }

    /// As [`Standby::join`]; None where the bucket has a member.
    ///
    /// # Errors
    /// As [`Standby::join`].
    pub async fn join_first(&self, consumer: Consumer, lease: Duration) -> Result<Option<Replica>, BucketError> {
        self.request(consumer, lease).join_first(&self.redis_bucket).await
    }

    fn request(&self, consumer: Consumer, lease: Duration) -> JoinRequest<'_> {
        JoinRequest { consumer, lease, life: self.life, before: Some((self.name.as_str(), self.asked)) }
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

/// Messages that a bucket has jobs. `sweeper` covers those that are lost.
#[derive(Debug)]
pub struct Announcements(Bell);

impl Announcements {
    /// Waits for the next one. Cancel-safe.
    pub async fn next(&mut self) {
        while self.0.rung().await == Ring::Missed {}
    }

    /// What was announced until now is done with.
    pub fn skip(&mut self) {
        self.0.hush();
    }
}
