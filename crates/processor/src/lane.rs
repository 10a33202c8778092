//! A lane: takes the jobs of one bucket at its pace, and starts an attempt for each.
//!
//! pace → take (here) → call → decide → settle (`attempt`).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{Bucket, Life, Replica, Take};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};

use crate::attempt;
use crate::consumer_name::ConsumerName;
use crate::lane_context::LaneContext;
use crate::outage::OutageBackoff;
use crate::settings::ProcessorSettings;
use crate::upkeep;

/// For requeuing what a drain left, and for leaving: together less than what a service manager gives beyond the
/// drain.
const REQUEUE: Duration = Duration::from_millis(1000);
const LEAVE: Duration = Duration::from_millis(500);

/// Being fenced is rare. Should it happen again at once, then not in a hot loop.
const BETWEEN_LIVES: Duration = Duration::from_millis(100);

/// With all slots taken nothing is taken, so nothing is heard of changes: then they are asked for, taking nothing.
const LOOK: Duration = Duration::from_secs(1);

/// One bucket's way out.
pub(crate) struct Lane {
    context: Arc<LaneContext>,
    name: ConsumerName,
    settings: ProcessorSettings,
}

/// How a replica's life in a bucket ends.
enum LifeEnd {
    Fenced,
    Stopped,
}

/// The jobs under way; one slot each, free again when its task has ended, however it ended.
type Attempts = JoinSet<()>;

impl Lane {
    pub(crate) const fn new(context: Arc<LaneContext>, name: ConsumerName, settings: ProcessorSettings) -> Self {
        Self { context, name, settings }
    }

    pub(crate) fn bucket(&self) -> &Bucket {
        self.context.bucket()
    }

    /// Lives, and when declared dead lives again under another name, until it is stopped and drained.
    pub(crate) async fn run(&self) {
        let mut attempts = Attempts::new();
        let mut life = Life::First;
        while let Some(replica) = self.join(life).await {
            life = Life::Again;
            let mut beats = pin!(upkeep::until_fenced(&replica, self.bucket(), self.context.metrics()));
            let end = tokio::select! {
                end = self.live(&replica, &mut attempts) => end,
                () = &mut beats => LifeEnd::Fenced,
            };
            match end {
                LifeEnd::Stopped => {
                    let mut drained = pin!(self.drain(&mut attempts));
                    tokio::select! {
                        () = &mut drained => {}
                        () = &mut beats => drained.await,
                    }
                    return self.leave(&replica).await;
                }
                // What is under way keeps its slots; its ends will be refused.
                LifeEnd::Fenced => {
                    let (bucket, consumer) = (self.bucket().name(), replica.consumer());
                    tracing::warn!(
                        %bucket, %consumer,
                        "This replica was declared dead, its jobs are with others; it joins again"
                    );
                }
            }
            self.rest(BETWEEN_LIVES).await;
        }
        self.drain(&mut attempts).await;
    }

    /// None: stopped before it could join.
    async fn join(&self, life: Life) -> Option<Replica> {
        let mut outage = OutageBackoff::none_yet(self.bucket().name().clone(), "join the bucket");
        while !self.context.is_stopping() {
            match self.bucket().join(self.name.of_a_new_life(), self.settings.lease, life).await {
                Ok(replica) => {
                    outage.over();
                    let (bucket, consumer) = (self.bucket().name(), replica.consumer());
                    tracing::info!(%bucket, %consumer, "This replica takes jobs");
                    return Some(replica);
                }
                Err(error) => self.rest(outage.failed(&error)).await,
            }
        }
        None
    }

    async fn live(&self, replica: &Replica, attempts: &mut Attempts) -> LifeEnd {
        let mut outage = OutageBackoff::none_yet(self.bucket().name().clone(), "take jobs");
        loop {
            self.slot(replica, attempts).await;
            if self.context.is_stopping() {
                return LifeEnd::Stopped;
            }
            if let Some(wait) = self.context.shortage().wait() {
                self.rest(wait).await;
                continue;
            }
            // A take is never abandoned half-way: jobs could be ours without our knowing.
            let take = replica.take(free_slots(replica, attempts)).await;
            self.context.metrics().expired(replica.expired());
            match take {
                Ok(Take::Jobs(jobs)) => {
                    outage.over();
                    for taken in jobs {
                        let (context, replica) = (Arc::clone(&self.context), replica.clone());
                        attempts.spawn(async move { attempt::run(&context, &replica, taken).await });
                    }
                }
                Ok(Take::Idle(idle)) => {
                    outage.over();
                    tokio::select! {
                        () = replica.wait(&idle) => {}
                        () = self.context.stopping() => {}
                    }
                }
                Ok(Take::Fenced) => return LifeEnd::Fenced,
                Err(error) => self.rest(outage.failed(&error)).await,
            }
        }
    }

    /// Until a slot is free, or it is time to ask whether there are more of them now.
    async fn slot(&self, replica: &Replica, attempts: &mut Attempts) {
        reap(replica, attempts);
        if free_slots(replica, attempts) > 0 {
            return;
        }
        tokio::select! {
            ended = attempts.join_next() => if let Some(ended) = ended && is_panic(ended) { replica.doubt() },
            () = self.rest(LOOK) => {}
        }
        // Attempts that were settled together end together: one take for all of their slots.
        tokio::task::yield_now().await;
        reap(replica, attempts);
    }

    async fn rest(&self, wait: Duration) {
        tokio::select! {
            () = sleep(wait) => {}
            () = self.context.stopping() => {}
        }
    }

    /// Lets calls under way end for as long as they may, then returns what is left.
    async fn drain(&self, attempts: &mut Attempts) {
        if timeout(self.settings.drain, all_ended(attempts)).await.is_ok() {
            return;
        }
        let (bucket, calls) = (self.bucket().name(), attempts.len());
        tracing::warn!(%bucket, calls, "The drain is over; open calls are cut and their jobs requeued");
        self.context.end();
        if timeout(REQUEUE, all_ended(attempts)).await.is_err() {
            // Redis doesn't answer. What wasn't returned is recovered by the others.
            attempts.shutdown().await;
        }
    }

    async fn leave(&self, replica: &Replica) {
        let bucket = self.bucket().name();
        let (left, ()) = tokio::join!(timeout(LEAVE, replica.leave()), self.end_history());
        match left {
            Ok(Ok(())) => tracing::info!(%bucket, "This replica has left"),
            Ok(Err(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(%bucket, error, "deregistration failed; jobs are recovered after the lease");
            }
            Err(_) => {
                tracing::warn!(%bucket, "Redis does not answer; the others will notice that this replica is gone");
            }
        }
    }

    /// What was seen since it was added last.
    async fn end_history(&self) {
        let seen = self.context.metrics().seen().take();
        if !seen.is_empty() && timeout(LEAVE, self.bucket().sample_history(&seen)).await.is_err() {
            tracing::debug!(bucket = %self.bucket().name(), "The history lacks the last second of this replica");
        }
    }
}

fn free_slots(replica: &Replica, attempts: &Attempts) -> usize {
    usize::try_from(replica.concurrency()).unwrap_or(usize::MAX).saturating_sub(attempts.len())
}

/// An attempt that panicked leaves its job claimed by this replica, which requeues it before the next claim.
fn reap(replica: &Replica, attempts: &mut Attempts) {
    while let Some(ended) = attempts.try_join_next() {
        if is_panic(ended) {
            replica.doubt();
        }
    }
}

async fn all_ended(attempts: &mut Attempts) {
    while let Some(ended) = attempts.join_next().await {
        // What it has left with this replica is returned when that leaves.
        is_panic(ended);
    }
}

/// Reports a panic outside of the attempt itself.
fn is_panic(ended: Result<(), JoinError>) -> bool {
    let panicked = ended.is_err_and(|error| error.is_panic());
    if panicked {
        tracing::error!("A job's task panicked: a bug, please report it; the job is requeued");
    }
    panicked
}
