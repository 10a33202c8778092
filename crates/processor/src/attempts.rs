//! The attempts in flight of a lane: each occupies a slot until its task ends, for whatever reason.

use dripfeed_bucket::Replica;
use tokio::task::{JoinError, JoinSet};

#[derive(Default)]
pub(crate) struct Attempts(JoinSet<()>);

impl Attempts {
    pub(crate) fn spawn(&mut self, attempt: impl Future<Output = ()> + Send + 'static) {
        // A task moves what it runs several times: of a pointer that costs less.
        self.0.spawn(Box::pin(attempt));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn free_slots(&self, replica: &Replica) -> usize {
        usize::try_from(replica.concurrency()).unwrap_or(usize::MAX).saturating_sub(self.len())
    }

    /// An attempt that panicked leaves its job claimed by this replica, which requeues it before the next claim.
    pub(crate) fn reap(&mut self, replica: &Replica) {
        while let Some(ended) = self.0.try_join_next() {
            doubt_after_panic(replica, ended);
        }
    }

    /// Returns when one has ended, or none is under way.
    pub(crate) async fn one_ended(&mut self, replica: &Replica) {
        if let Some(ended) = self.0.join_next().await {
            doubt_after_panic(replica, ended);
        }
    }

    pub(crate) async fn all_ended(&mut self) {
        while let Some(ended) = self.0.join_next().await {
            // What it has left with this replica is returned when that leaves.
            is_panic(ended);
        }
    }

    pub(crate) async fn shutdown(&mut self) {
        self.0.shutdown().await;
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
