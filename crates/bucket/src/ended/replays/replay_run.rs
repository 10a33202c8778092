//! Runs a background replay while this process has its lease.

use std::time::Duration;

use dripfeed_job::JobId;
use tokio::time::{Instant, sleep, sleep_until};

use super::progress::{Lease, Progress};
use super::replay_task::{ReplayState, ReplayTask};
use crate::admission::Refused;
use crate::bucket::Bucket;
use crate::ended::replay::ReplayResult;
use crate::error::BucketError;

/// Time between two renewals of the lease. After at most this time a wait notices that the replay was cancelled.
const RENEW: Duration = Duration::from_secs(2);
/// Wait after an error of Redis.
const AGAIN: Duration = Duration::from_millis(500);
/// Minimum and maximum wait while the bucket is full. Within these bounds the refusal's hint is used.
const FULL: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// A background replay of which this process has the lease.
pub(super) struct ReplayRun<F> {
    bucket: Bucket,
    task: ReplayTask,
    /// The end of the range of letters, as an argument of XRANGE.
    ending: String,
    owner: String,
    /// When the next letter may be replayed.
    due: Instant,
    renewed: Instant,
    /// Called for each job.
    replayed: F,
}

/// Whether this process continues the replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoOn,
    /// The replay has ended, or another process runs it.
    Stop,
}

impl<F: Fn()> ReplayRun<F> {
    /// Returns `None` if the replay has ended, or another process runs it.
    pub(super) async fn claim(bucket: Bucket, task: ReplayTask, replayed: F) -> Result<Option<Self>, BucketError> {
        let newest = task.newest.unwrap_or_else(|| JobId::new(task.started_ms, u64::MAX));
        let ending = task.filter.ending_with(newest);
        let (owner, now) = (format!("{:016x}", fastrand::u64(..)), Instant::now());
        let mut run = Self { bucket, task, ending, owner, due: now, renewed: now, replayed };
        Ok((run.advance(&Progress::default()).await? == Next::GoOn).then_some(run))
    }

    /// Replays letters until all are handled, the replay is cancelled, or the lease is lost.
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

    /// Replays one page of letters. After an error the same page is read again, without the letters that were already
    /// replayed.
    async fn page(&mut self) -> Result<Next, BucketError> {
        // Renewed first, so that this process stops when another one has the lease, even if its other calls fail.
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

    /// Replays one letter. Returns whether the letter stays, or `None` if the replay has ended or the lease is lost.
    async fn replay(&mut self, id: JobId) -> Result<Option<bool>, BucketError> {
        loop {
            if self.wait().await? == Next::Stop {
                return Ok(None);
            }
            match self.bucket.redis_bucket.replay(id, Duration::ZERO, Some(self.task.id), Vec::new()).await? {
                None => return Ok(None),
                Some(ReplayResult::As(_)) => {
                    (self.replayed)();
                    self.due = self.due.max(Instant::now()) + self.period();
                    return Ok(Some(false));
                }
                // Another call has replayed or deleted it.
                Some(ReplayResult::Unknown) => return Ok(Some(false)),
                Some(ReplayResult::Refused(refused)) if refused.is_of_one_letter() => return Ok(Some(true)),
                Some(ReplayResult::Refused(Refused { retry_after, .. })) => {
                    self.due = Instant::now() + retry_after.unwrap_or(FULL.1).clamp(FULL.0, FULL.1);
                }
            }
        }
    }

    fn period(&self) -> Duration {
        self.task.rate.map_or(Duration::ZERO, |rate| Duration::from_micros(rate.period_us().div_ceil(rate.limit())))
    }

    /// Waits until the next letter may be replayed.
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

    /// Stores the progress, and renews the lease.
    async fn advance(&mut self, progress: &Progress) -> Result<Next, BucketError> {
        let now = Instant::now();
        let lease = self.bucket.redis_bucket.advance_replay(self.task.id, Some(&self.owner), progress).await?;
        self.renewed = now;
        Ok(if lease == Lease::Kept { Next::GoOn } else { Next::Stop })
    }
}
