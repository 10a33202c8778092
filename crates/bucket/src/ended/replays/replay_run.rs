//! Runs a background replay while this process has its lease.

use std::time::Duration;

use dripfeed_job::JobId;
use tokio::time::{Instant, sleep, sleep_until};

use super::progress::{Lease, Progress};
use super::replay_task::{ReplayState, ReplayTask};
use crate::admission::Refused;
use crate::bucket::Bucket;
use crate::ended::replay::Replayed;
use crate::error::BucketError;

/// Between two renewals of the lease, which is also how soon a wait notices that the replay was cancelled.
const RENEW: Duration = Duration::from_secs(2);
/// After an error of Redis.
const AGAIN: Duration = Duration::from_millis(500);
/// While the bucket is full: as the hint says, within these.
const FULL: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// A replay, and the lease of it.
pub(super) struct ReplayRun<F> {
    bucket: Bucket,
    task: ReplayTask,
    /// Where the letters end that matched, as XRANGE writes it.
    ending: String,
    owner: String,
    /// When the next letter may go.
    due: Instant,
    renewed: Instant,
    /// Called for each job.
    replayed: F,
}

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoOn,
    /// It has ended, or another process runs it.
    Stop,
}

impl<F: Fn()> ReplayRun<F> {
    /// None: it has ended, or another process has it.
    pub(super) async fn claim(bucket: Bucket, task: ReplayTask, replayed: F) -> Result<Option<Self>, BucketError> {
        let newest = task.newest.unwrap_or_else(|| JobId::new(task.started_ms, u64::MAX));
        let ending = task.filter.ending_with(newest);
        let (owner, now) = (format!("{:016x}", fastrand::u64(..)), Instant::now());
        let mut run = Self { bucket, task, ending, owner, due: now, renewed: now, replayed };
        Ok((run.advance(&Progress::default()).await? == Next::GoOn).then_some(run))
    }

    /// Until all is done, or the lease is lost.
    pub(super) async fn carry_out(mut self) {
        loop {
            match self.page().await {
                Ok(Next::GoOn) => {}
                Ok(Next::Stop) => return,
                Err(error) => {
                    tracing::debug!(
                        bucket = %self.bucket.name(), replay = %self.task.id,
                        error = &error as &dyn std::error::Error, "a background replay is waiting for Redis"
                    );
                    if matches!(error, BucketError::Gone) {
                        self.bucket.reopen_or_log().await;
                    }
                    sleep(AGAIN).await;
                }
            }
        }
    }

    /// Some letters. What is not noted of them because of an error is looked at again: those that were replayed are
    /// gone by then.
    async fn page(&mut self) -> Result<Next, BucketError> {
        // First of all, so that one whose other calls fail stops when another process has the lease.
        if self.keep_lease().await? == Next::Stop {
            return Ok(Next::Stop);
        }
        let from = self.task.position.as_ref().map_or_else(|| self.task.filter.first(), |last| format!("({last}"));
        let (ids, last) = self.bucket.redis_bucket.dead_ids_between(&self.task.filter, &from, &self.ending).await?;
        let mut left = self.task.left;
        for id in ids {
            match self.replay(id).await? {
                None => return Ok(Next::Stop),
                Some(stays) => left += u64::from(stays),
            }
        }
        let at_end = last.is_empty();
        let last = if at_end { self.task.position.clone().unwrap_or_else(|| "0-0".to_owned()) } else { last };
        let ending = at_end.then_some(ReplayState::Done);
        let next = self.advance(&Progress { ending, position: Some((last.clone(), left)) }).await?;
        (self.task.position, self.task.left) = (Some(last), left);
        Ok(if at_end { Next::Stop } else { next })
    }

    /// Whether the letter stays. None: the replay has ended, or another process has it.
    async fn replay(&mut self, id: JobId) -> Result<Option<bool>, BucketError> {
        loop {
            if self.wait().await? == Next::Stop {
                return Ok(None);
            }
            match self.bucket.redis_bucket.replay(id, Duration::ZERO, Some(self.task.id), None).await? {
                None => return Ok(None),
                Some(Replayed::As(_)) => {
                    (self.replayed)();
                    self.due = self.due.max(Instant::now()) + self.period();
                    return Ok(Some(false));
                }
                // Somebody else replayed or deleted it meanwhile.
                Some(Replayed::Unknown) => return Ok(Some(false)),
                Some(Replayed::Refused(refused)) if refused.is_of_one_letter() => return Ok(Some(true)),
                Some(Replayed::Refused(Refused { retry_after, .. })) => {
                    self.due = Instant::now() + retry_after.unwrap_or(FULL.1).clamp(FULL.0, FULL.1);
                }
            }
        }
    }

    fn period(&self) -> Duration {
        self.task.rate.map_or(Duration::ZERO, |rate| Duration::from_micros(rate.period_us().div_ceil(rate.limit())))
    }

    /// Until the next letter may go.
    async fn wait(&mut self) -> Result<Next, BucketError> {
        loop {
            if self.keep_lease().await? == Next::Stop {
                return Ok(Next::Stop);
            }
            if self.due <= Instant::now() {
                return Ok(Next::GoOn);
            }
            sleep_until(self.due.min(self.renewed + RENEW)).await;
        }
    }

    async fn keep_lease(&mut self) -> Result<Next, BucketError> {
        if self.renewed.elapsed() < RENEW { Ok(Next::GoOn) } else { self.advance(&Progress::default()).await }
    }

    /// Renews the lease, too.
    async fn advance(&mut self, progress: &Progress) -> Result<Next, BucketError> {
        let now = Instant::now();
        let lease = self.bucket.redis_bucket.advance_replay(self.task.id, Some(&self.owner), progress).await?;
        self.renewed = now;
        Ok(if lease == Lease::Kept { Next::GoOn } else { Next::Stop })
    }
}
