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
use crate::deliver::replica::{Consumer, JoinKind, Replica};
use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::Scripts;

pub(crate) static SCRIPT: Scripts = Scripts::new("standby", include_str!("standby.lua"));

/// Time between two checks of a bucket, while a process is on standby for at most `FEW` buckets.
const LOOK: Duration = Duration::from_mins(1);
/// With more buckets, each is checked proportionally less often.
const FEW: u32 = 1000;
/// A process that has missed this many checks counts as gone.
const MISSED_CHECKS: u32 = 3;

/// A process on standby for a bucket, until it joins again.
pub struct Standby {
    redis_bucket: Arc<RedisBucket>,
    name: Consumer,
    new_jobs: Bell,
    /// When this process last took jobs here, or began to serve. Bounds the tokens that the pace has earned since.
    last_take: Instant,
    life: JoinKind,
    /// Whether the bucket had members at the last check.
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
            last_take: self.last_take_at(),
            life: JoinKind::Rejoin,
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
        // `true`: if the first check finds members, this process joins at once.
        let (last_take, had_members) = (Instant::now(), AtomicBool::new(true));
        Standby { redis_bucket, name, new_jobs, last_take, life: JoinKind::First, had_members }
    }
}

impl Standby {
    /// Returns the announcements since this standby began.
    #[must_use]
    pub fn announcements(&self) -> Announcements {
        Announcements(self.new_jobs.clone())
    }

    /// Returns the time between two checks of a bucket by a process that is on standby for this many buckets.
    #[must_use]
    pub fn check_interval(buckets: u32) -> Duration {
        LOOK.mul_f64(f64::from(buckets.max(FEW)) / f64::from(FEW))
    }

    /// Records that this process still serves the bucket, and returns whether it should join: because of jobs, or
    /// because an idle bucket has had members for two checks, which may be dead. `next`: time until the next check.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn check(&self, next: Duration) -> Result<bool, BucketError> {
        let keys = &self.redis_bucket.keys;
        let keys = keys.and_takers(vec![keys.jobs(), keys.replicas(), keys.standby(), keys.pace_tiers()]);
        let mut call = SCRIPT.of(self.redis_bucket.kind).on(&keys);
        call.arg(self.name.as_str()).arg(ms_up(next * MISSED_CHECKS));
        let check = || async { Ok(self.redis_bucket.store.run(&call).await?) };
        let (level, members): (u64, u64) = self.redis_bucket.in_own_kind(check).await?;
        let had_members = self.had_members.swap(members > 0, Ordering::Relaxed);
        Ok(level > 0 || had_members && members > 0)
    }

    /// Joins the bucket as `consumer`, which must be another name than that of this standby.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn join(&self, consumer: Consumer, lease: Duration) -> Result<Replica, BucketError> {
        self.request(consumer, lease).join(&self.redis_bucket).await
    }

    /// Like [`Standby::join`], but returns `None` if the bucket has a member.
    ///
    /// # Errors
    /// As [`Standby::join`].
    pub async fn join_first(&self, consumer: Consumer, lease: Duration) -> Result<Option<Replica>, BucketError> {
        self.request(consumer, lease).join_first(&self.redis_bucket).await
    }

    fn request(&self, consumer: Consumer, lease: Duration) -> JoinRequest<'_> {
        JoinRequest { consumer, lease, life: self.life, standby: Some((self.name.as_str(), self.last_take)) }
    }

    /// Records that this process no longer serves the bucket.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; then its entry remains until it expires.
    pub async fn end(&self) -> Result<(), BucketError> {
        let mut remove = redis::cmd("HDEL");
        remove.arg(self.redis_bucket.keys.standby()).arg(self.name.as_str());
        self.redis_bucket.store.command::<u64>(&remove).await?;
        Ok(())
    }
}

/// Messages that a bucket has jobs. `sweeper` covers those that are lost.
#[derive(Debug)]
pub struct Announcements(Bell);

impl Announcements {
    /// Waits for the next one. Cancel-safe.
    pub async fn next(&mut self) {
        while self.0.wait_for_ring().await == Ring::Missed {}
    }

    /// Discards the announcements until now.
    pub fn skip(&mut self) {
        self.0.reset();
    }
}
