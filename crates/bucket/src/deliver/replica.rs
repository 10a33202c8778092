//! A processor's membership in a bucket.

use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dripfeed_store::{Bell, BellWords};
use futures::FutureExt as _;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::bucket::Bucket;
use crate::deliver::heartbeat_watch::beat_interval;
use crate::deliver::orphaned_claims::OpenClaims;
use crate::deliver::permit::{Lateness, precise_sleep};
use crate::deliver::recover::{Others, Recovery};
use crate::deliver::settle::{self, EndedAttempt, Feedback, Settled, Settlement, Settlements};
use crate::deliver::take::token_backoff::put_off;
use crate::deliver::take::{Asked, Claim, Idle, Take, TakeRequest, TakeSize, Wanting};
use crate::deliver::wakes::Wakes;
use crate::error::BucketError;
use crate::script::constants::PARKED_OWNER;
use crate::script::redis_bucket::RedisBucket;

/// What is published when jobs wait, and none did before (notices.lua).
const NEW_JOBS: &str = "jobs";
/// What is published when they were taken.
const TAKEN: &str = "taken";

/// Between two tries to settle a job that Redis refuses to settle even alone.
const FIRST_PAUSE_ALONE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE_ALONE: Duration = Duration::from_secs(5);

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
pub enum Life {
    First,
    Again,
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
    /// Since the last take.
    settled: Notify,
    others: tokio::sync::Mutex<Others>,
    open_claims: OpenClaims,
    lateness: Lateness,
    takes: AtomicU64,
    take_size: TakeSize,
    /// Takes that found no token since one did.
    token_misses: AtomicU32,
    /// When the group was joined, or jobs last asked for.
    asked: Mutex<Asked>,
    /// Jobs found past their deadline, not reported yet.
    expired: AtomicU64,
    /// Jobs that died on their way here, not reported yet.
    died: AtomicU64,
    /// Before it joined.
    letters_dropped: u64,
}

impl RedisBucket {
    /// Rings when jobs wait, and none did before.
    pub(super) fn new_jobs(&self) -> Bell {
        self.store.bell(&self.keys.notices(), BellWords { ring: NEW_JOBS, done: Some(TAKEN) })
    }
}

impl Bucket {
    /// Declares a replica dead without waiting for the lease, and requeues its jobs. None: it sent a heartbeat
    /// meanwhile, so it keeps its jobs.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn declare_dead(&self, consumer: &Consumer) -> Result<Option<Recovery>, BucketError> {
        let consumer = consumer.as_str();
        // The owner of parked jobs is no replica: it never beats, and never dies.
        if consumer == PARKED_OWNER {
            return Ok(None);
        }
        let mut beats = redis::cmd("HGET");
        beats.arg(self.redis_bucket.keys.replicas()).arg(consumer);
        let seen: Option<String> = self.redis_bucket.store.command(&beats).await?;
        self.redis_bucket.take_over(consumer, seen.as_deref().unwrap_or_default()).await
    }
}

impl Replica {
    /// Of one that has joined. What `new_jobs` rang since then is known.
    pub(super) fn new(
        redis_bucket: Arc<RedisBucket>,
        consumer: Consumer,
        lease: Duration,
        new_jobs: Bell,
        asked: Asked,
        letters_dropped: u64,
    ) -> Self {
        Self(Arc::new(Member {
            settlements: settle::start(redis_bucket.clone(), consumer.as_str().to_owned()),
            redis_bucket,
            consumer,
            lease,
            wakes: Wakes::new(new_jobs),
            settled: Notify::new(),
            others: tokio::sync::Mutex::new(Others::new(lease)),
            open_claims: OpenClaims::default(),
            lateness: Lateness::new(lease),
            takes: AtomicU64::new(0),
            take_size: TakeSize::default(),
            token_misses: AtomicU32::new(0),
            asked: Mutex::new(asked),
            expired: AtomicU64::new(0),
            died: AtomicU64::new(0),
            letters_dropped,
        }))
    }

    /// Dead letters that were dropped before it joined, since the bucket was created.
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
        member.redis_bucket.requeue_orphans(consumer, &member.open_claims, &member.takes).await?;
        member.wakes.forget();
        member.settled.notified().now_or_never();
        let number = member.takes.fetch_add(1, Ordering::Relaxed) + 1;
        let asked = Instant::now();
        let before = *member.asked.lock();
        let most = member.take_size.of(most);
        let request = TakeRequest {
            consumer,
            number,
            most,
            is_late: member.wakes.is_late(),
            before,
            open_claims: &member.open_claims,
            lateness: &member.lateness,
        };
        let reply = member.redis_bucket.take(&request).await;
        let mut reply = reply.inspect_err(|error| {
            // Without an answer, jobs may be ours that we know nothing of.
            member.open_claims.doubt();
            if matches!(error, BucketError::Store(error) if error.is_unanswered()) {
                member.take_size.unanswered(most);
            }
        })?;
        member.take_size.answered();
        member.expired.fetch_add(reply.expired, Ordering::Relaxed);
        member.died.fetch_add(reply.died, Ordering::Relaxed);
        // A take that looked at nothing wrote no state: its time isn't that of the state that the next one finds.
        if reply.redis_us.is_some() {
            *member.asked.lock() = Asked { at: asked, redis_us: reply.redis_us, joined_us: None };
        }
        match &mut reply.take {
            Take::Jobs(..) => {
                member.token_misses.store(0, Ordering::Relaxed);
                member.wakes.found(true);
            }
            Take::Idle(idle) if idle.wanting == Wanting::Token => put_off(idle, &member.token_misses),
            Take::Idle(idle) if idle.wanting == Wanting::Job => member.wakes.found(false),
            Take::Idle(_) | Take::Fenced => {}
        }
        Ok(reply.take)
    }

    /// Notes that a claim may have been lost: the next take requeues jobs that this replica has claimed without knowing
    /// it.
    pub fn doubt(&self) {
        self.0.open_claims.doubt();
    }

    /// Jobs that this replica has expired since the last call.
    #[must_use]
    pub fn expired(&self) -> u64 {
        self.0.expired.swap(0, Ordering::Relaxed)
    }

    /// Jobs that were dead-lettered on their way to this replica since the last call: larger than any replica reads, or
    /// without room among the dead letters when they died.
    #[must_use]
    pub fn died(&self) -> u64 {
        self.0.died.swap(0, Ordering::Relaxed)
    }

    /// Waits until another take may be worthwhile. Cancel-safe.
    pub async fn wait(&self, idle: &Idle) {
        let left = idle.until.saturating_duration_since(Instant::now());
        let wake = async {
            match idle.wanting {
                Wanting::Job => self.0.wakes.next().await,
                Wanting::Room => self.0.settled.notified().await,
                Wanting::Token | Wanting::Time => pending().await,
            }
        };
        // A message may be lost, and what others add or end rings nothing: then it is worth asking after a while.
        tokio::select! {
            () = precise_sleep(left) => {}
            () = wake => {}
        }
    }

    /// Records the result of an attempt, batched with concurrent ones. Waits while Redis is unavailable.
    ///
    /// # Errors
    /// When the process is shutting down.
    pub async fn settle(&self, claim: Claim, settlement: Settlement) -> Result<Settled, BucketError> {
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
    ) -> impl Future<Output = Result<Settled, BucketError>> + Send {
        // Boxed before the future begins, which is as small as that then.
        let again = settlement.due_again();
        let mut ended = EndedAttempt::boxed(claim, settlement, feedback);
        let mut pause = FIRST_PAUSE_ALONE;
        async move {
            loop {
                let Some(answer) = self.0.settlements.put(ended).await else {
                    // The claim is gone, and the job may still be this replica's.
                    self.0.open_claims.doubt();
                    return Err(BucketError::Closing);
                };
                match answer {
                    Ok(settled) => {
                        self.0.settled.notify_one();
                        if let Some(after) = again {
                            self.0.wakes.retries.add(after);
                        }
                        return Ok(settled);
                    }
                    Err(alone) => ended = alone,
                }
                tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
                pause = (pause * 2).min(LONGEST_PAUSE_ALONE);
            }
        }
    }

    /// For a replica without room for another job: announces each job that it has put back, when that is due. Others
    /// would ask within a second. Never returns; may be dropped at any time.
    pub async fn offer_retries(&self) {
        let retries = &self.0.wakes.retries;
        loop {
            retries.due().await;
            // Waited for once: the next take of this replica sees it anyway.
            retries.forget();
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

    /// The interval of `beat`.
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

    /// Rings for what comes from now on.
    pub(super) fn new_jobs(&self) -> Bell {
        self.0.wakes.of_new_jobs()
    }

    /// When jobs were last asked for.
    pub(super) fn asked(&self) -> Instant {
        self.0.asked.lock().at
    }

    /// Whether all other replicas were recently alive. Otherwise jobs may have to be recovered.
    #[must_use]
    pub fn sees_others_live(&self) -> bool {
        // While the others are looked at, nothing is known of them.
        self.0.others.try_lock().is_ok_and(|others| others.watch.all_live(Instant::now()))
    }

    /// The maximum concurrent calls of this replica; a change at run time is known after the next `take`.
    #[must_use]
    pub fn concurrency(&self) -> u32 {
        self.0.redis_bucket.effective_settings().settings.leak.concurrency
    }
}

/// Announces to all processes that serve a bucket that it has jobs. A message may be lost.
pub(super) async fn announce(redis_bucket: &RedisBucket) {
    let mut publish = redis::cmd("PUBLISH");
    publish.arg(redis_bucket.keys.notices()).arg(NEW_JOBS);
    // Where the ACL denies it, each process finds them when it looks.
    if let Err(error) = redis_bucket.store.command::<u64>(&publish).await {
        tracing::debug!(bucket = %redis_bucket.settings().name, %error, "could not announce the jobs of a bucket");
    }
}
