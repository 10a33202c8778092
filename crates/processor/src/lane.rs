//! A lane: claims the jobs of one bucket at its pace, and starts an attempt for each.
//!
//! pace → take (here) → call → decide → settle (`attempt`).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketError, Idle, Life, Replica, Standby, Take};
use dripfeed_job::Ending;
use tokio::time::{Instant, sleep, timeout};

use crate::attempt;
use crate::attempts::Attempts;
use crate::consumer_name::ConsumerName;
use crate::lane_context::LaneContext;
use crate::logged_retry::LoggedRetry;
use crate::settings::ProcessorSettings;
use crate::standby;
use crate::upkeep;

/// For requeuing what a drain left, and for leaving: together less than what a service manager gives beyond the
/// drain.
const REQUEUE: Duration = Duration::from_millis(1000);
const LEAVE: Duration = Duration::from_millis(500);

/// Pause before a fenced replica rejoins, so that repeated fencing isn't a hot loop.
const BETWEEN_LIVES: Duration = Duration::from_millis(100);

/// While all slots are in use, a take of zero jobs asks for changed settings this often.
const LOOK: Duration = Duration::from_secs(1);

/// Delivers the jobs of one bucket.
pub(crate) struct Lane {
    context: Arc<LaneContext>,
    name: ConsumerName,
    settings: Arc<ProcessorSettings>,
}

/// How a replica's life in a bucket ends.
enum LifeEnd {
    Fenced,
    /// Stopped and drained.
    Stopped,
    OnStandby(Box<Standby>),
}

/// Why a replica takes no more jobs.
#[derive(PartialEq, Eq)]
enum TakesEnd {
    Fenced,
    Stopped,
    /// The bucket has had no job for `standby_after`.
    Quiet,
}

impl Lane {
    pub(crate) const fn new(context: Arc<LaneContext>, name: ConsumerName, settings: Arc<ProcessorSettings>) -> Self {
        Self { context, name, settings }
    }

    pub(crate) fn bucket(&self) -> &Bucket {
        self.context.bucket()
    }

    /// Lives, and when declared dead lives again under another name, until it is stopped and drained. Where nothing is
    /// to be done it is on standby between two lives.
    pub(crate) async fn run(&self) {
        let mut attempts = Attempts::new(Arc::clone(self.context.slots()));
        let mut joined = self.begin().await;
        while let Some(replica) = joined {
            // Apart, so that a lane on standby takes little memory.
            joined = match Box::pin(self.one_life(&replica, &mut attempts)).await {
                LifeEnd::Stopped => return Box::pin(self.leave(&replica)).await,
                // What is under way keeps its slots; its ends will be refused.
                LifeEnd::Fenced => Box::pin(self.rejoin(&replica)).await,
                LifeEnd::OnStandby(standby) => {
                    drop(replica);
                    self.join_when_needed(standby).await
                }
            }
        }
        Box::pin(self.drain(&mut attempts)).await;
    }

    async fn one_life(&self, replica: &Replica, attempts: &mut Attempts) -> LifeEnd {
        let mut beats = pin!(upkeep::until_fenced(replica, self.bucket(), self.context.metrics()));
        loop {
            let end = tokio::select! {
                // The first take comes before all upkeep.
                biased;
                end = self.live(replica, attempts) => end,
                () = &mut beats => return LifeEnd::Fenced,
            };
            if end == TakesEnd::Stopped {
                let mut drained = pin!(self.drain(attempts));
                tokio::select! {
                    () = &mut drained => {}
                    () = &mut beats => drained.await,
                }
                return LifeEnd::Stopped;
            }
            if end == TakesEnd::Fenced {
                return LifeEnd::Fenced;
            }
            // One that couldn't leave lives on, unless it did leave: then its next heartbeat shows it.
            if let Some(standby) = self.stand_by(replica).await {
                return LifeEnd::OnStandby(standby);
            }
        }
    }

    /// Where nothing is to be done it joins later: a thousand buckets aren't joined and left at once.
    async fn begin(&self) -> Option<Replica> {
        let standby = Box::new(self.bucket().stand_by(self.name.of_a_new_life()));
        tracing::info!(bucket = %self.bucket().name(), "this replica has joined the bucket");
        self.join_when_needed(standby).await
    }

    /// None: stopped before it could join. A future has room for its arguments twice: those of a lane that waits are
    /// small.
    async fn join_when_needed(&self, standby: Box<Standby>) -> Option<Replica> {
        match standby::until_needed(&self.context, &standby, &self.name, self.settings.lease).await {
            Some(replica) => {
                self.joined(&replica);
                Some(replica)
            }
            None => Box::pin(self.join(Some(standby))).await,
        }
    }

    /// None: stopped before it could join.
    async fn join(&self, standby: Option<Box<Standby>>) -> Option<Replica> {
        let mut retry = LoggedRetry::new(self.bucket().name().clone(), "join the bucket");
        while !self.context.is_stopping() {
            match self.try_to_join(standby.as_deref()).await {
                Ok(replica) => {
                    retry.over();
                    self.joined(&replica);
                    return Some(replica);
                }
                Err(BucketError::Gone) => self.gone().await,
                Err(error) => self.rest(retry.failed(&error)).await,
            }
        }
        if let Some(standby) = standby {
            // Otherwise it is known for a while.
            let _ = timeout(LEAVE, standby.end()).await;
            tracing::info!(bucket = %self.bucket().name(), "this replica has left the bucket");
        }
        None
    }

    /// None: stopped before it could join.
    async fn rejoin(&self, fenced: &Replica) -> Option<Replica> {
        let (bucket, consumer) = (self.bucket().name(), fenced.consumer());
        self.rest(BETWEEN_LIVES).await;
        match self.was_deleted().await {
            Some(false) => {
                let what = "this replica was declared dead and its jobs requeued, or Redis lost its data";
                tracing::warn!(%bucket, %consumer, "{what}; rejoining");
            }
            Some(true) => {
                let why = "because the bucket was deleted or created again";
                tracing::info!(%bucket, %consumer, "this replica left, {why}");
            }
            None => tracing::info!(%bucket, %consumer, "this replica has left the bucket"),
        }
        self.join(None).await
    }

    /// Whether the bucket was deleted, or created again: its replicas are fenced then, and not dead. None: stopped
    /// before Redis answered.
    async fn was_deleted(&self) -> Option<bool> {
        if self.bucket().incarnation().is_none() {
            return Some(false);
        }
        let mut retry = LoggedRetry::new(self.bucket().name().clone(), "check whether the bucket was deleted");
        loop {
            let is_last = self.context.is_stopping();
            let census = self.bucket().census();
            let answer = if is_last { timeout(LEAVE, census).await.ok()? } else { census.await };
            match answer {
                Err(error) if !matches!(error, BucketError::Gone) => {
                    let wait = retry.failed(&error);
                    if is_last {
                        return None;
                    }
                    self.rest(wait).await;
                }
                answer => {
                    retry.over();
                    return Some(answer.is_err());
                }
            }
        }
    }

    fn joined(&self, replica: &Replica) {
        let (bucket, consumer) = (self.bucket().name(), replica.consumer());
        tracing::debug!(%bucket, %consumer, "this replica has joined as a member");
    }

    async fn try_to_join(&self, standby: Option<&Standby>) -> Result<Replica, BucketError> {
        let (consumer, lease) = (self.name.of_a_new_life(), self.settings.lease);
        match standby {
            Some(standby) => standby.join(consumer, lease).await,
            None => self.bucket().join(consumer, lease, Life::Again).await,
        }
    }

    /// None: Redis doesn't answer.
    async fn stand_by(&self, replica: &Replica) -> Option<Box<Standby>> {
        let bucket = self.bucket().name();
        self.end_history().await;
        match replica.stand_by().await {
            Ok(standby) => {
                tracing::debug!(%bucket, "this replica is on standby: the bucket has no jobs");
                Some(Box::new(standby))
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::debug!(%bucket, error, "this replica could not leave the bucket");
                None
            }
        }
    }

    async fn live(&self, replica: &Replica, attempts: &mut Attempts) -> TakesEnd {
        let mut retry = LoggedRetry::new(self.bucket().name().clone(), "claim jobs");
        let mut quiet_since = Instant::now();
        loop {
            self.slot(replica, attempts).await;
            if self.context.is_stopping() {
                return TakesEnd::Stopped;
            }
            if let Some(wait) = self.context.shortage().wait() {
                self.rest(wait).await;
                continue;
            }
            // A take is never abandoned half-way: jobs could be ours without our knowing.
            let take = replica.take(attempts.free_slots(replica)).await;
            self.context.metrics().ended_on_the_way(Ending::Expired, replica.expired());
            self.context.metrics().ended_on_the_way(Ending::Dead, replica.died());
            match take {
                Ok(Take::Jobs(jobs, idle)) => {
                    retry.over();
                    quiet_since = Instant::now();
                    for taken in jobs {
                        let (context, replica) = (Arc::clone(&self.context), replica.clone());
                        attempts.spawn(attempt::run(context, replica, taken));
                    }
                    if let Some(idle) = idle {
                        self.wait(replica, &idle).await;
                    }
                }
                Ok(Take::Idle(idle)) => {
                    retry.over();
                    if !attempts.is_empty() {
                        quiet_since = Instant::now();
                    } else if quiet_since.elapsed() >= self.settings.standby_after && self.has_no_jobs(replica).await {
                        return TakesEnd::Quiet;
                    }
                    self.wait(replica, &idle).await;
                }
                Ok(Take::Fenced) => return TakesEnd::Fenced,
                Err(BucketError::Gone) => self.gone().await,
                Err(error) => self.rest(retry.failed(&error)).await,
            }
        }
    }

    /// It was deleted, and this lane is about to be stopped; or its deletion was, before it was decided.
    async fn gone(&self) {
        if let Err(error) = self.bucket().reopen_abandoned().await {
            let error = &error as &dyn std::error::Error;
            let bucket = self.bucket().name();
            tracing::debug!(%bucket, error, "could not check whether the bucket is being deleted");
        }
        self.rest(LOOK).await;
    }

    /// No job is waiting, parked or claimed by any replica, and no other replica may have to be recovered.
    async fn has_no_jobs(&self, replica: &Replica) -> bool {
        replica.sees_others_live() && self.bucket().level().await.is_ok_and(|jobs| jobs == 0)
    }

    /// Until a slot is free, or it is time to ask whether there are more of them now.
    async fn slot(&self, replica: &Replica, attempts: &mut Attempts) {
        attempts.reap(replica);
        if attempts.free_slots(replica) > 0 {
            return;
        }
        tokio::select! {
            () = attempts.one_ended(replica) => {}
            () = self.rest(LOOK) => {}
            () = replica.offer_retries() => {}
        }
        // Attempts that were settled together end together: one take for all of their slots.
        tokio::task::yield_now().await;
        attempts.reap(replica);
    }

    async fn wait(&self, replica: &Replica, idle: &Idle) {
        tokio::select! {
            () = replica.wait(idle) => {}
            () = self.context.stopping() => {}
        }
    }

    async fn rest(&self, wait: Duration) {
        tokio::select! {
            () = sleep(wait) => {}
            () = self.context.stopping() => {}
        }
    }

    /// Lets calls under way end for as long as they may, then returns what is left.
    async fn drain(&self, attempts: &mut Attempts) {
        if timeout(self.settings.drain, attempts.all_ended()).await.is_ok() {
            return;
        }
        let (bucket, calls) = (self.bucket().name(), attempts.len());
        tracing::warn!(%bucket, calls, "drain timeout; aborting open calls and requeuing their jobs");
        self.context.end();
        if timeout(REQUEUE, attempts.all_ended()).await.is_err() {
            // Redis doesn't answer. What wasn't returned is recovered by the others.
            attempts.shutdown().await;
        }
    }

    async fn leave(&self, replica: &Replica) {
        let bucket = self.bucket().name();
        let (left, ()) = tokio::join!(timeout(LEAVE, replica.leave()), self.end_history());
        match left {
            Ok(Ok(())) => tracing::info!(%bucket, "this replica has left the bucket"),
            Ok(Err(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(%bucket, error, "deregistration failed; jobs are recovered after the lease");
            }
            Err(_) => {
                tracing::warn!(%bucket, "no answer from Redis; jobs are recovered after the lease");
            }
        }
    }

    /// What was seen since it was added last.
    async fn end_history(&self) {
        let seen = self.context.metrics().seen().take();
        if !seen.is_empty() && timeout(LEAVE, self.bucket().sample_history(&seen)).await.is_err() {
            tracing::debug!(bucket = %self.bucket().name(), "could not record the last second of the history");
        }
    }
}
