//! A processor's membership in a bucket: takes and settles jobs, and sends heartbeats.

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dripfeed_store::{Bell, BellMessages};
use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::bucket::Bucket;
use crate::deliver::heartbeat_watch::beat_interval;
use crate::deliver::orphaned_claims::OpenClaims;
use crate::deliver::permit::{Lateness, precise_sleep};
use crate::deliver::recover::{Others, Recovery};
use crate::deliver::settle::{self, EndedAttempt, Feedback, SettleResult, Settlement, Settlements};
use crate::deliver::take::token_backoff::delay_next_take;
use crate::deliver::take::{Claim, Idle, LastTake, Take, TakeRequest, TakeSize, WaitReason};
use crate::deliver::wakes::Wakes;
use crate::error::BucketError;
use crate::script::constants::PARKED_OWNER;
use crate::script::redis_bucket::RedisBucket;

/// The message when jobs wait, and none did before (notices.lua).
const NEW_JOBS: &str = "jobs";
/// The message when all of them were taken.
const TAKEN: &str = "taken";

/// Backoff for a job that Redis refuses to settle even alone.
const MIN_BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// A replica's consumer name in the group, unique per process and membership.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Consumer(String);

impl Consumer {
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a process joins for the first time, or again after it was declared dead or Redis lost its membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    First,
    Rejoin,
}

/// A replica's membership in a bucket's consumer group. Cheap to clone; all clones are one member.
#[derive(Clone)]
pub struct Replica(Arc<Member>);

struct Member {
    redis_bucket: Arc<RedisBucket>,
    consumer: Consumer,
    lease: Duration,
    settlements: Settlements,
    wakes: Wakes,
    /// Notified when a job is settled.
    settled: Notify,
    others: tokio::sync::Mutex<Others>,
    open_claims: OpenClaims,
    /// Connections to Redis that were made before the last take.
    connections_made: AtomicU64,
    lateness: Lateness,
    takes: AtomicU64,
    take_size: TakeSize,
    /// Takes without a token since one had a token.
    token_misses: AtomicU32,
    last_take: Mutex<LastTake>,
    /// Jobs that takes found past their deadline, until they are reported.
    expired: AtomicU64,
    /// Jobs that takes have dead-lettered, until they are reported.
    died: AtomicU64,
    /// The bucket's dropped dead letters when this replica joined.
    letters_dropped: u64,
}

impl RedisBucket {
    /// A bell that rings when jobs wait, and none did before.
    pub(super) fn new_jobs(&self) -> Bell {
        self.store.bell(&self.keys.notices(), BellMessages { ring: NEW_JOBS, done: Some(TAKEN) })
    }
}

impl Bucket {
    /// Declares a replica dead without waiting for the lease, and requeues its jobs. Returns `None` if it sent a
    /// heartbeat meanwhile, and so keeps its jobs.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn declare_dead(&self, consumer: &Consumer) -> Result<Option<Recovery>, BucketError> {
        let consumer = consumer.as_str();
        // The owner of parked jobs isn't a replica.
        if consumer == PARKED_OWNER {
            return Ok(None);
        }
        let mut beats = redis::cmd("HGET");
        beats.arg(self.redis_bucket.keys.replicas()).arg(consumer);
        let beats: Option<String> = self.redis_bucket.store.command(&beats).await?;
        self.redis_bucket.take_over(consumer, beats.as_deref().unwrap_or_default()).await
    }
}

impl Replica {
    /// A replica that has joined. `new_jobs` was created before that, so that no message is missed.
    pub(super) fn new(
        redis_bucket: Arc<RedisBucket>,
        consumer: Consumer,
        lease: Duration,
        new_jobs: Bell,
        last_take: LastTake,
        letters_dropped: u64,
    ) -> Self {
        let connections_made = AtomicU64::new(redis_bucket.store.connections_made());
        Self(Arc::new(Member {
            settlements: settle::start(redis_bucket.clone(), consumer.as_str().to_owned()),
            redis_bucket,
            consumer,
            lease,
            wakes: Wakes::new(new_jobs),
            settled: Notify::new(),
            others: tokio::sync::Mutex::new(Others::new(lease)),
            open_claims: OpenClaims::default(),
            connections_made,
            lateness: Lateness::new(lease),
            takes: AtomicU64::new(0),
            take_size: TakeSize::default(),
            token_misses: AtomicU32::new(0),
            last_take: Mutex::new(last_take),
            expired: AtomicU64::new(0),
            died: AtomicU64::new(0),
            letters_dropped,
        }))
    }

    /// Returns the number of the bucket's dead letters that were dropped before this replica joined.
    #[must_use]
    pub fn letters_dropped_before(&self) -> u64 {
        self.0.letters_dropped
    }

    #[must_use]
    pub fn consumer(&self) -> &Consumer {
        &self.0.consumer
    }

    /// Claims up to `most` jobs that may be called now.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time. Jobs that were claimed anyway are found by the
    /// next take.
    pub async fn take(&self, most: usize) -> Result<Take, BucketError> {
        let member = &self.0;
        let consumer = member.consumer.as_str();
        member.doubt_if_reconnected();
        member.redis_bucket.requeue_orphans(consumer, &member.open_claims, &member.takes).await?;
        // This take sees everything that was announced until now.
        member.wakes.clear();
        member.settled.notified().now_or_never();
        let number = member.takes.fetch_add(1, Ordering::Relaxed) + 1;
        let at = Instant::now();
        let last_take = *member.last_take.lock();
        let most = member.take_size.limit(most);
        let request = TakeRequest {
            consumer,
            number,
            most,
            is_late: member.wakes.is_late(),
            last_take,
            open_claims: &member.open_claims,
            lateness: &member.lateness,
        };
        let reply = member.redis_bucket.take(&request).await;
        let mut reply = reply.inspect_err(|error| {
            // The script may have claimed jobs although no answer came.
            member.open_claims.doubt();
            if matches!(error, BucketError::Store(error) if error.is_unanswered()) {
                member.take_size.unanswered(most);
            }
        })?;
        member.take_size.answered();
        member.expired.fetch_add(reply.expired, Ordering::Relaxed);
        member.died.fetch_add(reply.died, Ordering::Relaxed);
        // Without `redis_us` the take wrote no state of the pace, so the next one still counts from an earlier time.
        if reply.redis_us.is_some() {
            *member.last_take.lock() = LastTake { at, redis_us: reply.redis_us, joined_us: None };
        }
        match &mut reply.take {
            Take::Jobs(..) => {
                member.token_misses.store(0, Ordering::Relaxed);
                member.wakes.found(true);
            }
            Take::Idle(idle) if idle.wait_for == WaitReason::Token => delay_next_take(idle, &member.token_misses),
            Take::Idle(idle) if idle.wait_for == WaitReason::Job => member.wakes.found(false),
            Take::Idle(_) | Take::Fenced => {}
        }
        Ok(reply.take)
    }

    /// Notes that a claim may have been lost: the next take requeues jobs that this replica has claimed without knowing
    /// it.
    pub fn doubt(&self) {
        self.0.open_claims.doubt();
    }

    /// Returns the number of jobs that takes of this replica found past their deadline, since the last call.
    #[must_use]
    pub fn expired(&self) -> u64 {
        self.0.expired.swap(0, Ordering::Relaxed)
    }

    /// Returns the number of jobs that takes of this replica dead-lettered since the last call: larger than any replica
    /// reads, or without room among the dead letters when they died.
    #[must_use]
    pub fn died(&self) -> u64 {
        self.0.died.swap(0, Ordering::Relaxed)
    }

    /// Waits until another take may be worthwhile. Cancel-safe.
    pub async fn wait(&self, idle: &Idle) {
        let timeout = idle.until.saturating_duration_since(Instant::now());
        let wake = async {
            match idle.wait_for {
                WaitReason::Job => self.0.wakes.next().await,
                WaitReason::Room => self.0.settled.notified().await,
                WaitReason::Token | WaitReason::Time => pending().await,
            }
        };
        // Also for jobs and calls of which there is no message, or whose message was lost.
        tokio::select! {
            () = precise_sleep(timeout) => {}
            () = wake => {}
        }
    }

    /// Records the result of an attempt, batched with concurrent ones. Waits while Redis is unavailable.
    ///
    /// # Errors
    /// When the process is shutting down.
    pub async fn settle(&self, claim: Claim, settlement: Settlement) -> Result<SettleResult, BucketError> {
        self.settle_with(claim, settlement, Feedback::default()).await
    }

    /// Like [`Replica::settle`], with feedback about the upstream.
    ///
    /// # Errors
    /// As [`Replica::settle`].
    pub fn settle_with(
        &self,
        claim: Claim,
        settlement: Settlement,
        feedback: Feedback,
    ) -> impl Future<Output = Result<SettleResult, BucketError>> + Send {
        // Boxed outside of the future, to keep that small.
        let due_again = settlement.due_again();
        let mut ended = EndedAttempt::boxed(claim, settlement, feedback);
        let mut backoff = MIN_BACKOFF;
        async move {
            loop {
                let Some(result) = self.0.settlements.put(ended).await else {
                    // The claim was dropped, but Redis may still have the job as claimed by this replica.
                    self.0.open_claims.doubt();
                    return Err(BucketError::Closing);
                };
                match result {
                    Ok(settled) => {
                        self.0.settled.notify_one();
                        if let Some(after) = due_again {
                            self.0.wakes.retries.add(after);
                        }
                        return Ok(settled);
                    }
                    Err(unsettled) => ended = unsettled,
                }
                tokio::time::sleep(backoff.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
                backoff = (backoff * 2).min(MAX_BACKOFF);
            }
        }
    }

    /// For a replica without a free slot: announces each job that it has parked when that job is due, so that another
    /// replica takes it at once, not within a second. Never returns. Cancel-safe.
    pub async fn offer_retries(&self) {
        let retries = &self.0.wakes.retries;
        loop {
            retries.due().await;
            // Announced once: the next take of this replica sees the job in any case.
            retries.clear_due();
            announce(&self.0.redis_bucket).await;
        }
    }

    /// Sends a heartbeat, checks those of the others, and requeues the jobs of dead replicas.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time. What was recovered before is in the result of
    /// the next heartbeat.
    pub async fn beat(&self) -> Result<Recovery, BucketError> {
        let mut others = self.0.others.lock().await;
        self.0.redis_bucket.beat(self.0.consumer.as_str(), &mut others).await
    }

    /// Returns the interval of `beat`.
    #[must_use]
    pub fn beat_interval(&self) -> Duration {
        beat_interval(self.0.lease)
    }

    /// Leaves the group and requeues claimed jobs, without counting an attempt.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; then the jobs are requeued after the lease.
    pub async fn leave(&self) -> Result<(), BucketError> {
        self.0.redis_bucket.take_over(self.0.consumer.as_str(), "*").await.map(drop)
    }

    pub(super) fn redis_bucket(&self) -> &Arc<RedisBucket> {
        &self.0.redis_bucket
    }

    /// A bell that rings for jobs that are announced from now on.
    pub(super) fn new_jobs(&self) -> Bell {
        self.0.wakes.of_new_jobs()
    }

    pub(super) fn last_take_at(&self) -> Instant {
        self.0.last_take.lock().at
    }

    /// Returns whether all other replicas were recently alive. Otherwise jobs may have to be recovered.
    #[must_use]
    pub fn sees_others_live(&self) -> bool {
        // The lock is taken while a heartbeat checks the others: until then their state isn't known.
        self.0.others.try_lock().is_ok_and(|others| others.watch.all_live(Instant::now()))
    }

    /// Returns the maximum concurrent calls of this replica; a change at run time is known after the next `take`.
    #[must_use]
    pub fn concurrency(&self) -> u32 {
        self.0.redis_bucket.effective_settings().settings.leak.concurrency
    }
}

impl Member {
    /// After a reconnect Redis may have lost a settlement that it had confirmed: then the job is still claimed.
    fn doubt_if_reconnected(&self) {
        let made = self.redis_bucket.store.connections_made();
        if self.connections_made.swap(made, Ordering::Relaxed) != made {
            self.open_claims.doubt();
        }
    }
}

/// Announces to all processes that serve a bucket that it has jobs. A message may be lost.
pub(super) async fn announce(redis_bucket: &RedisBucket) {
    let mut publish = redis::cmd("PUBLISH");
    publish.arg(redis_bucket.keys.notices()).arg(NEW_JOBS);
    // If the ACL denies this, each process finds the jobs at its next check.
    if let Err(error) = redis_bucket.store.command::<u64>(&publish).await {
        tracing::debug!(bucket = %redis_bucket.settings().name, %error, "could not announce the jobs of a bucket");
    }
}
