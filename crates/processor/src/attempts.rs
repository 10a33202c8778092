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

/// The number of used slots of a bucket in this process. A bucket that is removed and added again has two lanes for a
/// while, one of which drains; both share the slots.
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
        // Boxed, because spawning moves the future several times.
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

    /// Removes the attempts that have ended. The job of one that panicked is still claimed by this replica, which
    /// requeues it before its next claim.
    pub(crate) fn reap(&mut self, replica: &Replica) {
        while let Some(result) = self.tasks.try_join_next() {
            doubt_after_panic(replica, result);
        }
    }

    /// Returns when an attempt has ended; never if none is running.
    pub(crate) async fn one_ended(&mut self, replica: &Replica) {
        match self.tasks.join_next().await {
            Some(result) => doubt_after_panic(replica, result),
            None => pending().await,
        }
    }

    pub(crate) async fn all_ended(&mut self) {
        while let Some(result) = self.tasks.join_next().await {
            // The job of an attempt that panicked is requeued when this replica leaves.
            log_panic(result);
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

fn doubt_after_panic(replica: &Replica, result: Result<(), JoinError>) {
    if log_panic(result) {
        replica.doubt();
    }
}

/// Logs a panic that the attempt didn't catch, and returns whether it was one.
fn log_panic(result: Result<(), JoinError>) -> bool {
    let panicked = result.is_err_and(|error| error.is_panic());
    if panicked {
        tracing::error!("a job's task panicked; the job is requeued; this is a bug, please report it");
    }
    panicked
}
