//! A processor's membership in a bucket.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::core::Core;
use crate::doorbell::Doorbell;
use crate::error::BucketError;
use crate::recover::{Recovery, Watch, beat_interval};
use crate::scripts::Scripts;
use crate::settle::{self, Ended, Feedback, Settled, Settlement, Settlements};
use crate::strays::Held;
use crate::take::{Claim, Idle, Take};

static JOIN: LazyLock<Scripts> =
    LazyLock::new(|| Scripts::new("join", |kind| vec![kind.consumers, include_str!("join.lua")]));

/// A replica's name in the group, unique per process and life.
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

/// Whether a process is new in the group, or comes again after it was declared dead or Redis lost its membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    First,
    Again,
}

/// One life of a replica in a bucket's group. Cheap to clone; all clones are one member.
#[derive(Clone)]
pub struct Replica(Arc<Member>);

struct Member {
    core: Arc<Core>,
    consumer: Consumer,
    lease: Duration,
    settlements: Settlements,
    doorbell: Doorbell,
    watch: tokio::sync::Mutex<Watch>,
    held: Held,
    takes: AtomicU64,
    /// When the group was joined, or jobs last asked for.
    asked: Mutex<Instant>,
    /// Jobs found past their deadline, not told yet.
    expired: AtomicU64,
}

impl Core {
    pub(crate) async fn join(
        self: Arc<Self>,
        consumer: Consumer,
        lease: Duration,
        life: Life,
    ) -> Result<Replica, BucketError> {
        let joined = Instant::now();
        let keys = self.keys.and_takers(vec![
            self.keys.jobs(),
            self.keys.replicas(),
            self.keys.pace(),
            self.keys.pace_tiers(),
        ]);
        let mut call = JOIN.of(self.kind).on(&keys);
        call.arg(consumer.as_str()).arg(u8::from(life == Life::First));
        self.store.run::<String>(&call).await?;
        Ok(Replica(Arc::new(Member {
            settlements: settle::start(self.clone(), consumer.as_str().to_owned()),
            core: self,
            consumer,
            lease,
            doorbell: Doorbell::default(),
            watch: tokio::sync::Mutex::new(Watch::new(lease)),
            held: Held::default(),
            takes: AtomicU64::new(0),
            asked: Mutex::new(joined),
            expired: AtomicU64::new(0),
        })))
    }
}

impl Replica {
    #[must_use]
    pub fn consumer(&self) -> &Consumer {
        &self.0.consumer
    }

    /// Up to `most` jobs that may be called now.
    pub async fn take(&self, most: usize) -> Result<Take, BucketError> {
        let member = &self.0;
        let consumer = member.consumer.as_str();
        member.core.give_back_strays(consumer, &member.held, &member.takes).await?;
        let number = member.takes.fetch_add(1, Ordering::Relaxed) + 1;
        let asked = Instant::now();
        let before = *member.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let taking = member.core.take(consumer, number, most, before, &member.held).await;
        // Without an answer, jobs may be ours that we know nothing of.
        let taking = taking.inspect_err(|_| member.held.doubt())?;
        member.expired.fetch_add(taking.expired, Ordering::Relaxed);
        *member.asked.lock().unwrap_or_else(PoisonError::into_inner) = asked;
        Ok(taking.take)
    }

    /// Jobs that this replica found past their deadline, and so ended, since this was last asked.
    #[must_use]
    pub fn expired(&self) -> u64 {
        self.0.expired.swap(0, Ordering::Relaxed)
    }

    /// Until it may be worth taking again. May be dropped at any time.
    pub async fn wait(&self, idle: &Idle) {
        let core = &self.0.core;
        match &idle.bell {
            Some(last_id) => self.0.doorbell.wait(&core.store, &core.keys.jobs(), last_id, idle.wait).await,
            None => tokio::time::sleep(idle.wait).await,
        }
    }

    /// Ends an attempt. What is settled meanwhile by others goes together; while Redis is away it waits.
    pub async fn settle(&self, claim: Claim, settlement: Settlement) -> Result<Settled, BucketError> {
        self.settle_with(claim, settlement, Feedback::default()).await
    }

    /// The same, where the attempt told something of the upstream.
    pub async fn settle_with(
        &self,
        claim: Claim,
        settlement: Settlement,
        feedback: Feedback,
    ) -> Result<Settled, BucketError> {
        self.0.settlements.put(Ended::new(claim, settlement, feedback)).await.ok_or(BucketError::Closing)
    }

    /// Shows that this replica lives, looks at the others, and takes over what dead ones held.
    pub async fn beat(&self) -> Result<Recovery, BucketError> {
        let mut watch = self.0.watch.lock().await;
        self.0.core.beat(self.0.consumer.as_str(), &mut watch).await
    }

    /// How often to `beat`.
    #[must_use]
    pub fn beat_interval(&self) -> Duration {
        beat_interval(self.0.lease)
    }

    /// Leaves the group; what is still held is due at once for the others, without counting an attempt.
    pub async fn leave(&self) -> Result<(), BucketError> {
        self.0.core.take_over(self.0.consumer.as_str(), "*").await.map(drop)
    }

    /// Calls under way at once that this replica may have now; a change at run time is known after the next `take`.
    #[must_use]
    pub fn concurrency(&self) -> u32 {
        self.0.core.in_force().settings.leak.concurrency
    }
}
