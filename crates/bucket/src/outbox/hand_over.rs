//! Hands outcome jobs over to their buckets, which accept them as they would anybody's: by their limits, as far as they
//! have room, and once for each idempotency key. Only then they leave the outbox. So whatever is killed in between,
//! none is lost, and none is there twice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dripfeed_job::BucketName;
use dripfeed_job::duration::ms_up;
use dripfeed_store::{Bell, Script};
use redis::Value;

use super::blocked::Blocked;
use super::outcome_job::OutcomeJob;
use crate::admission::admission_request::Origin;
use crate::admission::{Admission, RefusalReason};
use crate::bucket::{Bucket, Buckets};
use crate::error::BucketError;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static NEXT: Script = Script::new("next_outcomes", SHARED, include_str!("next_outcomes.lua"));
static HANDED_OVER: Script = Script::new("handed_over", SHARED, include_str!("handed_over.lua"));

/// Outcome jobs that are read at once: each may be as long as what is kept of an answer.
const PAGE: usize = 50;
/// The most pages in one round.
const PAGES: usize = 20;
/// For so long no other process hands over.
const LEASE: Duration = Duration::from_secs(3);
/// Where nothing says when there is room.
const WAIT: Duration = Duration::from_millis(200);
/// A message is sent when the first comes; one that was lost delays by that.
const LOOK: Duration = Duration::from_secs(1);
/// Between two lines about a bucket that isn't configured.
const BETWEEN_LINES: Duration = Duration::from_mins(1);

/// What one round did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandedOver {
    /// Nothing waits.
    All,
    /// Another process does it.
    Elsewhere,
    /// Some have to wait so long at least.
    Waiting(Duration),
    /// There may be more.
    Some,
}

/// Hands over the outcome jobs of one bucket.
pub struct OutcomeCourier {
    from: Bucket,
    /// Of this process.
    name: String,
    /// The entry after which the next round begins; empty: with the first.
    after: String,
    news: Bell,
    /// When the log last had a line about a bucket that isn't there.
    warned: Option<Instant>,
}

struct Page {
    /// How many entries were read.
    read: usize,
    last: String,
    jobs: Vec<OutcomeJob>,
}

impl Bucket {
    /// Whether outcome jobs wait for their bucket: also such as were written by other settings than there are now.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn has_outcome_jobs(&self) -> Result<bool, BucketError> {
        let mut count = redis::cmd("XLEN");
        count.arg(self.redis_bucket.keys.outbox());
        Ok(self.redis_bucket.store.command::<u64>(&count).await? > 0)
    }
}

impl OutcomeCourier {
    #[must_use]
    pub fn new(from: Bucket) -> Self {
        let news = from.redis_bucket.store.bell(&from.redis_bucket.keys.outbox(), "outcomes");
        Self { from, name: format!("{:032x}", fastrand::u128(..)), after: String::new(), news, warned: None }
    }

    #[must_use]
    pub const fn from(&self) -> &Bucket {
        &self.from
    }

    /// Hands over what waits, oldest first, as far as there is room, and waits until it is worth looking again. An
    /// error is logged; so is a bucket that isn't among `targets`.
    pub async fn round(&mut self, targets: &Buckets) {
        self.news.hush();
        let handed_over = self.hand_over(targets).await.inspect_err(|error| {
            let (bucket, error) = (self.from.name(), error as &dyn std::error::Error);
            tracing::debug!(%bucket, error, "Outcome jobs were not handed over; they are tried again");
        });
        match handed_over {
            Ok(HandedOver::Some) => {}
            Ok(HandedOver::All) => drop(tokio::time::timeout(LOOK, self.news.rung()).await),
            Ok(HandedOver::Elsewhere) | Err(_) => tokio::time::sleep(LOOK).await,
            Ok(HandedOver::Waiting(wait)) => tokio::time::sleep(wait.clamp(WAIT, LOOK)).await,
        }
    }

    /// One round: what waits behind the place where the last one ended.
    ///
    /// # Errors
    /// When the Redis of the bucket that they come from can't be reached, refuses, or doesn't answer in time.
    pub async fn hand_over(&mut self, targets: &Buckets) -> Result<HandedOver, BucketError> {
        let mut blocked = Blocked::default();
        for _ in 0..PAGES {
            let page = match self.next_page().await? {
                Ok(page) => page,
                Err(none) => return Ok(none),
            };
            let done = self.submit(page.jobs, targets, &mut blocked).await;
            self.remove(&done).await?;
            self.after = page.last;
            let on_outcome = &self.from.settings().on_outcome;
            let is_end = page.read < PAGE;
            if is_end || blocked.has_all(on_outcome.targets.iter().map(|target| target.bucket.clone())) {
                self.after.clear();
                let some = is_end && done.len() == page.read;
                let wait = blocked.retry_after().unwrap_or(WAIT);
                return Ok(if some { HandedOver::Some } else { HandedOver::Waiting(wait) });
            }
        }
        Ok(HandedOver::Some)
    }

    async fn next_page(&self) -> Result<Result<Page, HandedOver>, BucketError> {
        let (store, keys) = (&self.from.redis_bucket.store, &self.from.redis_bucket.keys);
        let mut call = NEXT.on(&[keys.outbox(), keys.outbox_lease()]);
        call.arg(&self.name).arg(ms_up(LEASE)).arg(&self.after).arg(PAGE);
        let mut reply = Reply::new("next_outcomes", store.run::<Value>(&call.with_large_reply()).await?)?;
        let waiting = reply.count()?;
        if reply.text()? != "1" {
            return Ok(Err(if waiting == 0 { HandedOver::All } else { HandedOver::Elsewhere }));
        }
        let mut page = Page { read: 0, last: String::new(), jobs: Vec::new() };
        while !reply.is_empty() {
            let mut entry = reply.array()?;
            let (id, fields) = (entry.text()?, entry.array()?.pairs()?);
            page.read += 1;
            page.last.clone_from(&id);
            match OutcomeJob::read(self.from.name(), id, &fields) {
                Some(job) => page.jobs.push(job),
                None => {
                    let (bucket, entry) = (self.from.name(), &page.last);
                    tracing::debug!(%bucket, %entry, "This entry of the outbox is no outcome job; delete it");
                }
            }
        }
        Ok(Ok(page))
    }

    /// The entries of those that their buckets have.
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
                    blocked.block(&to);
                    self.warn_of_missing(&to);
                }
            }
        }
        done
    }

    fn warn_of_missing(&mut self, to: &BucketName) {
        if self.warned.is_none_or(|warned| warned.elapsed() >= BETWEEN_LINES) {
            self.warned = Some(Instant::now());
            let bucket = self.from.name();
            tracing::warn!(
                %bucket, %to,
                "Outcomes wait for a bucket that isn't configured: configure it, or delete them from the outbox"
            );
        }
    }

    /// First one and then more at a time: a bucket without room isn't asked for each.
    async fn submit_to(&self, to: &Bucket, jobs: Vec<OutcomeJob>, blocked: &mut Blocked, done: &mut Vec<String>) {
        let (mut jobs, mut at_once) = (jobs.into_iter().peekable(), 1);
        while jobs.peek().is_some() {
            let some: Vec<OutcomeJob> = jobs.by_ref().filter(|job| !blocked.blocks(job)).take(at_once).collect();
            at_once *= 2;
            let submissions = some.iter().map(OutcomeJob::submission).collect();
            let judged = to.judge_many(submissions, Arc::new(Origin::default())).await;
            for (job, judged) in some.into_iter().zip(judged) {
                match judged.map(|judged| judged.admission) {
                    Ok(Admission::Admitted(_)) => done.push(job.entry),
                    Ok(Admission::Refused(refused)) if refused.reason == RefusalReason::IdempotencyConflict => {
                        let (bucket, to) = (self.from.name(), to.name());
                        tracing::warn!(%bucket, %to, "An outcome's idempotency key names another job: it was kept");
                        done.push(job.entry);
                    }
                    Ok(Admission::Refused(refused)) => blocked.refused(&job, &refused),
                    Err(error) => {
                        let (bucket, to) = (self.from.name(), to.name());
                        tracing::debug!(%bucket, %to, error = &error as &dyn std::error::Error, "An outcome waits");
                        blocked.block(to);
                    }
                }
            }
        }
    }

    async fn remove(&self, done: &[String]) -> Result<(), BucketError> {
        if done.is_empty() {
            return Ok(());
        }
        let (store, keys) = (&self.from.redis_bucket.store, &self.from.redis_bucket.keys);
        let mut call = HANDED_OVER.on(&[keys.outbox(), keys.tally()]);
        call.arg(done);
        store.run::<u64>(&call).await?;
        Ok(())
    }
}
