//! The attempts in flight of a lane: each occupies a slot until its task ends, for whatever reason.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dripfeed_bucket::Replica;
use futures::FutureExt as _;
use tokio::task::{JoinError, JoinSet};

pub(crate) struct Attempts {
    tasks: JoinSet<()>,
    slots: Arc<Slots>,
}

/// The slots of a bucket in this process that are used. A bucket that is removed and comes back has two lanes for a
/// while: one drains and the other begins. They share the slots.
#[derive(Default)]
pub(crate) struct Slots(AtomicUsize);

/// The slot of an attempt, until it is dropped.
struct UsedSlot(Arc<Slots>);

impl Attempts {
    pub(crate) fn new(slots: Arc<Slots>) -> Self {
        Self { tasks: JoinSet::new(), slots }
    }

    pub(crate) fn spawn(&mut self, attempt: impl Future<Output = ()> + Send + 'static) {
        let slot = self.slots.take();
        // A task moves what it runs several times: of a pointer that costs less.
        self.tasks.spawn(Box::pin(attempt.map(move |()| drop(slot))));
    }

    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(crate) fn free_slots(&self, replica: &Replica) -> usize {
        usize::try_from(replica.concurrency()).unwrap_or(usize::MAX).saturating_sub(self.slots.used())
    }

    /// An attempt that panicked leaves its job claimed by this replica, which requeues it before the next claim.
    pub(crate) fn reap(&mut self, replica: &Replica) {
        while let Some(ended) = self.tasks.try_join_next() {
            doubt_after_panic(replica, ended);
        }
    }

    /// Returns when one has ended; never where none is under way.
    pub(crate) async fn one_ended(&mut self, replica: &Replica) {
        match self.tasks.join_next().await {
            Some(ended) => doubt_after_panic(replica, ended),
            None => pending().await,
        }
    }

    pub(crate) async fn all_ended(&mut self) {
        while let Some(ended) = self.tasks.join_next().await {
            // What it has left with this replica is returned when that leaves.
            is_panic(ended);
        }
    }

    pub(crate) async fn shutdown(&mut self) {
        self.tasks.shutdown().await;
    }
}

impl Slots {
    fn used(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn take(self: &Arc<Self>) -> UsedSlot {
        self.0.fetch_add(1, Ordering::Relaxed);
        UsedSlot(Arc::clone(self))
    }
}

impl Drop for UsedSlot {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn doubt_after_panic(replica: &Replica, ended: Result<(), JoinError>) {
    if is_panic(ended) {
        replica.doubt();
    }
}

/// Reports a panic outside of the attempt itself.
fn is_panic(ended: Result<(), JoinError>) -> bool {
    let panicked = ended.is_err_and(|error| error.is_panic());
    if panicked {
        tracing::error!("a job's task panicked; the job is requeued; this is a bug, please report it");
    }
    panicked
}
