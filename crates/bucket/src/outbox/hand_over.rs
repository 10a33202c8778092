//! Submits outcome jobs to their target buckets, like any other submission: within limits and capacity, and once per
//! idempotency key. An outcome job is removed from the outbox only after its target has accepted it, so a process that
//! is killed in between neither loses nor duplicates it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_job::BucketName;
use dripfeed_store::Bell;

use super::blocked::Blocked;
use super::outcome_job::OutcomeJob;
use super::oversized::Oversized;
use super::page::{NextOutcomes, PAGE};
use super::pass::Pass;
use super::rare_line::RareLine;
use crate::admission::admission_request::Origin;
use crate::admission::{Admission, RefusalReason};
use crate::bucket::{Bucket, Buckets};
use crate::error::BucketError;

/// Maximum pages in one round.
const PAGES: usize = 20;
/// Body bytes after which no further job is added to a batch, so that small jobs don't wait for large ones.
const TOGETHER: usize = 32 << 10;
/// Minimum time between two rounds while jobs wait for room.
const LEAST_WAIT: Duration = Duration::from_millis(200);
/// Wait before the next round, which a message for the first job in an empty outbox may end earlier.
const LOOK: Duration = Duration::from_secs(1);
/// How long a process that doesn't know a target waits, so that another process can take the lease.
const STAND_BACK: Duration = Duration::from_secs(3);

/// The result of one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOverResult {
    /// The outbox is empty.
    All,
    /// Another process has the lease.
    Elsewhere,
    /// Some jobs wait for room, at least for this time.
    Waiting(Duration),
    /// Some jobs are for buckets that this process doesn't know. It has ended its lease.
    Unknown,
    /// Some jobs were moved, and there may be more.
    Some,
}

/// The numbers of entries in an outbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutboxTargets {
    /// Waiting outcome jobs by target bucket.
    pub jobs: BTreeMap<BucketName, u64>,
    /// Entries that aren't outcome jobs.
    pub unreadable: u64,
}

/// Moves the outcome jobs of one bucket to their target buckets.
pub struct OutboxRelay {
    from: Bucket,
    /// The name of this process in the lease.
    name: String,
    /// The entry after which the next round begins. Empty: it begins with the first entry.
    after: String,
    pass: Pass,
    news: Bell,
    /// Maximum number of jobs in a batch.
    at_once: usize,
    /// The warning about a target bucket that isn't configured.
    warning: RareLine,
    oversized: Oversized,
}

impl OutboxRelay {
    #[must_use]
    pub fn new(from: Bucket) -> Self {
        let news = from.redis_bucket.store.bell(&from.redis_bucket.keys.outbox(), "outcomes");
        Self {
            from,
            name: format!("{:032x}", fastrand::u128(..)),
            after: String::new(),
            pass: Pass::default(),
            news,
            at_once: 1,
            warning: RareLine::default(),
            oversized: Oversized::default(),
        }
    }

    #[must_use]
    pub const fn from(&self) -> &Bucket {
        &self.from
    }

    /// Counts the outcome jobs without moving them. Returns `None` if another process has the lease.
    ///
    /// # Errors
    /// As [`OutboxRelay::hand_over`].
    pub async fn count(&self) -> Result<Option<OutboxTargets>, BucketError> {
        let (mut counted, mut after) = (OutboxTargets::default(), String::new());
        loop {
            let page = match self.from.next_outcomes(&self.name, &after).await? {
                NextOutcomes::Page(page) => page,
                NextOutcomes::None => return Ok(Some(counted)),
                NextOutcomes::Elsewhere => return Ok(None),
            };
            counted.unreadable += (page.read - page.jobs.len()) as u64;
            for job in page.jobs {
                *counted.jobs.entry(job.to).or_default() += 1;
            }
            if page.read < PAGE {
                return Ok(Some(counted));
            }
            after = page.last;
        }
    }

    /// Moves outcome jobs, oldest first, as far as the targets have room, and waits until another round is worthwhile.
    /// Logs errors, and targets that aren't in `targets`.
    pub async fn round(&mut self, targets: &Buckets) {
        self.news.reset();
        let handed_over = self.hand_over(targets).await.inspect_err(|error| {
            let (bucket, error) = (self.from.name(), error as &dyn std::error::Error);
            tracing::debug!(%bucket, error, "could not move outcome jobs to their target bucket; retrying");
        });
        match handed_over {
            Ok(HandOverResult::Some) => {}
            Ok(HandOverResult::All) => drop(tokio::time::timeout(LOOK, self.news.wait_for_ring()).await),
            Ok(HandOverResult::Elsewhere) | Err(_) => tokio::time::sleep(LOOK).await,
            Ok(HandOverResult::Unknown) => tokio::time::sleep(STAND_BACK).await,
            Ok(HandOverResult::Waiting(wait)) => tokio::time::sleep(wait.clamp(LEAST_WAIT, LOOK)).await,
        }
    }

    /// Moves the outcome jobs of one round, which begins where the last one ended.
    ///
    /// # Errors
    /// When the Redis of the source bucket can't be reached, refuses, or doesn't answer in time.
    pub async fn hand_over(&mut self, targets: &Buckets) -> Result<HandOverResult, BucketError> {
        let (mut blocked, mut handed_over) = (Blocked::default(), 0);
        if self.after.is_empty() {
            self.pass.begin();
        }
        for _ in 0..PAGES {
            let page = match self.from.next_outcomes(&self.name, &self.after).await? {
                NextOutcomes::Page(page) => page,
                NextOutcomes::None => {
                    self.after.clear();
                    self.oversized.none(&self.from).await?;
                    return Ok(HandOverResult::All);
                }
                NextOutcomes::Elsewhere => {
                    self.after.clear();
                    self.oversized.forget();
                    return Ok(HandOverResult::Elsewhere);
                }
            };
            let done = self.submit(page.jobs, targets, &mut blocked).await;
            self.pass.note_unknown(blocked.has_unknown());
            self.from.remove_outcomes(&done).await?;
            self.oversized.add(self.from.name(), &blocked.take_oversized());
            handed_over += done.len();
            self.after = page.last;
            let on_outcome = &self.from.settings().on_outcome;
            let is_end = page.read < PAGE;
            let has_all = || blocked.has_all(on_outcome.targets.iter().map(|target| target.bucket.clone()));
            if is_end || !self.pass.is_whole() && has_all() {
                self.after.clear();
                self.oversized.note(&self.from, is_end).await?;
                if self.pass.has_unknown() {
                    self.from.leave_outbox(&self.name).await?;
                    return Ok(HandOverResult::Unknown);
                }
                let is_all = is_end && page.read > 0 && done.len() == page.read;
                return Ok(if is_all { HandOverResult::Some } else { waiting(&blocked) });
            }
        }
        Ok(if handed_over > 0 { HandOverResult::Some } else { waiting(&blocked) })
    }

    /// Returns the entries of the jobs that can be removed from the outbox.
    async fn submit(&mut self, jobs: Vec<OutcomeJob>, targets: &Buckets, blocked: &mut Blocked) -> Vec<String> {
        let mut by_bucket: BTreeMap<BucketName, Vec<OutcomeJob>> = BTreeMap::new();
        for job in jobs {
            by_bucket.entry(job.to.clone()).or_default().push(job);
        }
        let mut done = Vec::new();
        for (to, jobs) in by_bucket {
            match targets.get(to.as_str()) {
                Some(target) => self.submit_to(&target, jobs, blocked, &mut done).await,
                None => {
                    blocked.block_unknown(&to);
                    self.warn_of_missing(&to);
                }
            }
        }
        done
    }

    fn warn_of_missing(&mut self, to: &BucketName) {
        if self.warning.is_due() {
            let bucket = self.from.name();
            tracing::warn!(
                %bucket, %to,
                "outcome jobs wait for a target bucket that isn't configured; configure it, or delete them from the \
                    outbox"
            );
        }
    }

    /// Submits jobs to one target, in batches. After a refusal a batch has one job, and each further one up to twice as
    /// many: in a large batch most jobs would be refused, too.
    async fn submit_to(
        &mut self,
        target: &Bucket,
        jobs: Vec<OutcomeJob>,
        blocked: &mut Blocked,
        done: &mut Vec<String>,
    ) {
        let (mut jobs, mut is_gone) = (jobs.into_iter().peekable(), false);
        while jobs.peek().is_some() {
            let (mut some, mut submissions, mut bytes) = (Vec::new(), Vec::new(), 0);
            while some.len() < self.at_once && bytes < TOGETHER {
                let Some(job) = jobs.next() else { break };
                if !blocked.blocks(&job) {
                    let submission = job.submission();
                    bytes += submission.body.len();
                    submissions.push(submission);
                    some.push(job);
                }
            }
            self.at_once = PAGE.min(2 * self.at_once);
            let judged = target.admit_many_from(submissions, Arc::new(Origin::default())).await;
            for (job, judged) in some.into_iter().zip(judged) {
                match judged.map(|judged| judged.admission) {
                    Ok(Admission::Admitted(_)) => done.push(job.entry),
                    Ok(Admission::Refused(refused)) if refused.reason == RefusalReason::IdempotencyConflict => {
                        let (bucket, to) = (self.from.name(), target.name());
                        tracing::warn!(%bucket, %to, "outcome job dropped: its idempotency key belongs to another job");
                        done.push(job.entry);
                    }
                    Ok(Admission::Refused(refused)) => {
                        self.at_once = 1;
                        blocked.refused(&job, &refused);
                    }
                    Err(error) => {
                        let (bucket, to) = (self.from.name(), target.name());
                        tracing::debug!(%bucket, %to, error = &error as &dyn std::error::Error, "an outcome job waits \
                            for its target bucket");
                        blocked.block(to);
                        is_gone |= matches!(error, BucketError::Gone);
                    }
                }
            }
        }
        if is_gone {
            target.reopen_or_log().await;
        }
    }
}

/// Waits until the first target may have room, or for [`LOOK`] if no refusal says when.
fn waiting(blocked: &Blocked) -> HandOverResult {
    HandOverResult::Waiting(blocked.retry_after().unwrap_or(LOOK))
}
