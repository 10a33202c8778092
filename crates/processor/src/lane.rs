//! A lane: claims the jobs of one bucket at its pace, and starts an attempt for each.
//!
//! Its replica is a member of the bucket until the lane stops, the replica is fenced, or the bucket is idle.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketError, Idle, JoinKind, Replica, Standby, Take};
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

/// After the drain: timeouts for requeuing the aborted jobs, and for leaving the bucket. Together they are shorter than
/// the time that a service manager waits beyond the drain before it kills the process.
const REQUEUE_TIMEOUT: Duration = Duration::from_millis(1000);
const LEAVE_TIMEOUT: Duration = Duration::from_millis(500);

/// Pause before a fenced replica rejoins, so that repeated fencing isn't a hot loop.
const REJOIN_DELAY: Duration = Duration::from_millis(100);

/// While all slots are in use, a take of zero jobs asks for changed settings this often.
const SETTINGS_CHECK: Duration = Duration::from_secs(1);

/// Delivers the jobs of one bucket.
pub(crate) struct Lane {
    context: Arc<LaneContext>,
    name: ConsumerName,
    settings: Arc<ProcessorSettings>,
}

/// How a replica's membership in a bucket ends.
enum MembershipEnd {
    Fenced,
    /// The lane was stopped, and its attempts have ended.
    Stopped,
    OnStandby(Box<Standby>),
}

/// Why a replica stops claiming jobs.
#[derive(PartialEq, Eq)]
enum ClaimLoopEnd {
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

    /// Runs until the lane is stopped and drained. A replica that was declared dead joins again under another name; one
    /// whose bucket is idle goes on standby, and joins again when a job comes.
    pub(crate) async fn run(&self) {
        let mut attempts = Attempts::new(Arc::clone(self.context.slots()));
        let mut joined = self.start_on_standby().await;
        while let Some(replica) = joined {
            // Boxed, so that the future of a lane on standby is small.
            joined = match Box::pin(self.run_membership(&replica, &mut attempts)).await {
                MembershipEnd::Stopped => return Box::pin(self.leave(&replica)).await,
                // Running attempts keep their slots; Redis will refuse to settle their jobs.
                MembershipEnd::Fenced => Box::pin(self.rejoin(&replica)).await,
                MembershipEnd::OnStandby(standby) => {
                    drop(replica);
                    self.join_when_needed(standby).await
                }
            }
        }
        Box::pin(self.drain(&mut attempts)).await;
    }

    async fn run_membership(&self, replica: &Replica, attempts: &mut Attempts) -> MembershipEnd {
        let mut upkeep = pin!(upkeep::run_until_fenced(replica, self.bucket(), self.context.metrics()));
        loop {
            let end = tokio::select! {
                // The first take comes before all upkeep.
                biased;
                end = self.claim_jobs(replica, attempts) => end,
                () = &mut upkeep => return MembershipEnd::Fenced,
            };
            if end == ClaimLoopEnd::Stopped {
                let mut drained = pin!(self.drain(attempts));
                tokio::select! {
                    () = &mut drained => {}
                    () = &mut upkeep => drained.await,
                }
                return MembershipEnd::Stopped;
            }
            if end == ClaimLoopEnd::Fenced {
                return MembershipEnd::Fenced;
            }
            // After an error the replica stays a member. If it has left all the same, its next heartbeat is fenced.
            if let Some(standby) = self.stand_by(replica).await {
                return MembershipEnd::OnStandby(standby);
            }
        }
    }

    /// Joins with the first job, so that a process with a thousand idle buckets doesn't join and leave all of them.
    /// Returns `None` if the lane is stopped before.
    async fn start_on_standby(&self) -> Option<Replica> {
        let standby = Box::new(self.bucket().stand_by(self.name.new_consumer()));
        tracing::info!(bucket = %self.bucket().name(), "this replica has joined the bucket");
        self.join_when_needed(standby).await
    }

    /// Returns `None` if the lane is stopped before it has joined. `standby` is boxed because a future stores its
    /// arguments twice.
    async fn join_when_needed(&self, standby: Box<Standby>) -> Option<Replica> {
        match standby::wait_until_needed(&self.context, &standby, &self.name, self.settings.lease).await {
            Some(replica) => {
                self.log_joined(&replica);
                Some(replica)
            }
            None => Box::pin(self.join(Some(standby))).await,
        }
    }

    /// Tries until the replica has joined. Returns `None` if the lane is stopped before.
    async fn join(&self, standby: Option<Box<Standby>>) -> Option<Replica> {
        let mut retry = LoggedRetry::new(self.bucket().name().clone(), "join the bucket");
        while !self.context.is_stopping() {
            match self.try_to_join(standby.as_deref()).await {
                Ok(replica) => {
                    retry.succeeded();
                    self.log_joined(&replica);
                    return Some(replica);
                }
                Err(BucketError::Gone) => self.reopen_abandoned().await,
                Err(error) => self.pause(retry.failed(&error)).await,
            }
        }
        if let Some(standby) = standby {
            // Otherwise the bucket lists this replica as on standby until its entry expires.
            let _ = timeout(LEAVE_TIMEOUT, standby.end()).await;
            tracing::info!(bucket = %self.bucket().name(), "this replica has left the bucket");
        }
        None
    }

    /// Joins again under another name. Returns `None` if the lane is stopped before.
    async fn rejoin(&self, fenced: &Replica) -> Option<Replica> {
        let (bucket, consumer) = (self.bucket().name(), fenced.consumer());
        self.pause(REJOIN_DELAY).await;
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

    /// Whether the bucket was deleted, or created again: that fences its replicas, too. Returns `None` if the lane is
    /// stopped before Redis answers.
    async fn was_deleted(&self) -> Option<bool> {
        if self.bucket().incarnation().is_none() {
            return Some(false);
        }
        let mut retry = LoggedRetry::new(self.bucket().name().clone(), "check whether the bucket was deleted");
        loop {
            let is_last = self.context.is_stopping();
            let census = self.bucket().census();
            let result = if is_last { timeout(LEAVE_TIMEOUT, census).await.ok()? } else { census.await };
            match result {
                Err(error) if !matches!(error, BucketError::Gone) => {
                    let wait = retry.failed(&error);
                    if is_last {
                        return None;
                    }
                    self.pause(wait).await;
                }
                result => {
                    retry.succeeded();
                    return Some(result.is_err());
                }
            }
        }
    }

    fn log_joined(&self, replica: &Replica) {
        let (bucket, consumer) = (self.bucket().name(), replica.consumer());
        tracing::debug!(%bucket, %consumer, "this replica has joined as a member");
    }

    async fn try_to_join(&self, standby: Option<&Standby>) -> Result<Replica, BucketError> {
        let (consumer, lease) = (self.name.new_consumer(), self.settings.lease);
        match standby {
            Some(standby) => standby.join(consumer, lease).await,
            None => self.bucket().join(consumer, lease, JoinKind::Rejoin).await,
        }
    }

    /// Leaves the bucket and goes on standby. Returns `None` if that failed.
    async fn stand_by(&self, replica: &Replica) -> Option<Box<Standby>> {
        let bucket = self.bucket().name();
        self.flush_history().await;
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

    async fn claim_jobs(&self, replica: &Replica, attempts: &mut Attempts) -> ClaimLoopEnd {
        let mut retry = LoggedRetry::new(self.bucket().name().clone(), "claim jobs");
        let mut quiet_since = Instant::now();
        loop {
            self.wait_for_slot(replica, attempts).await;
            if self.context.is_stopping() {
                return ClaimLoopEnd::Stopped;
            }
            if let Some(wait) = self.context.shortage().wait() {
                self.pause(wait).await;
                continue;
            }
            // Not in a `select!` with the stop: a cancelled take may have claimed jobs that this replica doesn't know.
            let take = replica.take(attempts.free_slots(replica)).await;
            self.context.metrics().ended_uncalled(Ending::Expired, replica.expired());
            self.context.metrics().ended_uncalled(Ending::Dead, replica.died());
            match take {
                Ok(Take::Jobs(jobs, idle)) => {
                    retry.succeeded();
                    quiet_since = Instant::now();
                    for job in jobs {
                        let (context, replica) = (Arc::clone(&self.context), replica.clone());
                        attempts.spawn(attempt::run(context, replica, job));
                    }
                    if let Some(idle) = idle {
                        self.wait_for_jobs(replica, &idle).await;
                    }
                }
                Ok(Take::Idle(idle)) => {
                    retry.succeeded();
                    if !attempts.is_empty() {
                        quiet_since = Instant::now();
                    } else if quiet_since.elapsed() >= self.settings.standby_after && self.may_stand_by(replica).await {
                        return ClaimLoopEnd::Quiet;
                    }
                    self.wait_for_jobs(replica, &idle).await;
                }
                Ok(Take::Fenced) => return ClaimLoopEnd::Fenced,
                Err(BucketError::Gone) => self.reopen_abandoned().await,
                Err(error) => self.pause(retry.failed(&error)).await,
            }
        }
    }

    /// Opens a closed bucket again if its deletion was abandoned before it was decided. Otherwise the bucket was
    /// deleted, and this lane will soon be stopped.
    async fn reopen_abandoned(&self) {
        self.bucket().reopen_or_log().await;
        self.pause(SETTINGS_CHECK).await;
    }

    /// Whether no job is waiting, parked or claimed by any replica, and no other replica may have to be recovered.
    async fn may_stand_by(&self, replica: &Replica) -> bool {
        replica.sees_others_live() && self.bucket().level().await.is_ok_and(|jobs| jobs == 0)
    }

    /// Waits until a slot is free, or until it is time to check whether the settings now allow more.
    async fn wait_for_slot(&self, replica: &Replica, attempts: &mut Attempts) {
        attempts.reap(replica);
        if attempts.free_slots(replica) > 0 {
            return;
        }
        tokio::select! {
            () = attempts.one_ended(replica) => {}
            () = self.pause(SETTINGS_CHECK) => {}
            () = replica.offer_retries() => {}
        }
        // Attempts that were settled in one batch end together: the next take is to fill all of their slots.
        tokio::task::yield_now().await;
        attempts.reap(replica);
    }

    async fn wait_for_jobs(&self, replica: &Replica, idle: &Idle) {
        tokio::select! {
            () = replica.wait(idle) => {}
            () = self.context.stopped() => {}
        }
    }

    /// Sleeps, but not beyond the stop of the lane.
    async fn pause(&self, wait: Duration) {
        tokio::select! {
            () = sleep(wait) => {}
            () = self.context.stopped() => {}
        }
    }

    /// Waits for the running attempts up to the drain time, then aborts the others and requeues their jobs.
    async fn drain(&self, attempts: &mut Attempts) {
        if timeout(self.settings.drain, attempts.all_ended()).await.is_ok() {
            return;
        }
        let (bucket, calls) = (self.bucket().name(), attempts.len());
        tracing::warn!(%bucket, calls, "drain timeout; aborting open calls and requeuing their jobs");
        self.context.abort_attempts();
        if timeout(REQUEUE_TIMEOUT, attempts.all_ended()).await.is_err() {
            // Redis doesn't answer. Other replicas recover the jobs that weren't requeued.
            attempts.shutdown().await;
        }
    }

    async fn leave(&self, replica: &Replica) {
        let bucket = self.bucket().name();
        let (left, ()) = tokio::join!(timeout(LEAVE_TIMEOUT, replica.leave()), self.flush_history());
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

    /// Adds the calls since the last sample to the history.
    async fn flush_history(&self) {
        let calls = self.context.metrics().recent_calls().take();
        if !calls.is_empty() && timeout(LEAVE_TIMEOUT, self.bucket().sample_history(&calls)).await.is_err() {
            tracing::debug!(bucket = %self.bucket().name(), "could not record the last second of the history");
        }
    }
}
