//! Moves the jobs of a place that nobody serves into another bucket: each is accepted there as a new job, and only then
//! cancelled here, with a reason that names the new one.
//!
//! The two buckets may lie in different slots of a Cluster, so that no script does both. The new job's idempotency key
//! is made of the old one's id: a move that was killed in between is done again, finds the new job, and ends the old
//! one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dripfeed_job::fingerprint::fingerprint;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::{Job, JobId, Start, Submission, Unreadable, element, entry};
use dripfeed_store::Store;
use redis::Value;

use crate::admission::{Admission, Judgement, RefusalReason, Refused};
use crate::bucket::Bucket;
use crate::deliver::recover::{HeartbeatWatch, beat_interval};
use crate::error::BucketError;
use crate::inspect::served::BucketPlace;
use crate::script::constants::LARGEST_BODY;
use crate::script::redis_bucket::RedisBucket;
use crate::script::reply::Reply;
use crate::script::scripts::Scripts;
use crate::settings::{BucketSettings, Kind};

static LEAVING: Scripts = Scripts::new("leaving", include_str!("leaving.lua"));
static MOVED: Scripts = Scripts::new("moved", include_str!("moved.lua"));

/// Jobs in one call.
const MOST: usize = 200;
/// An idempotency key of the place's own key: this many digits distinguish two places.
const KEY_DIGITS: usize = 16;

/// Moves all jobs of one place, step by step.
pub struct Mover {
    redis_bucket: Arc<RedisBucket>,
    place: BucketPlace,
    into: Bucket,
    /// The replicas that take here are another bucket's.
    replicas_are_others: bool,
    position: MovePosition,
    /// Those of this pass that are refused for now.
    later: Option<Refused>,
    progress: MoveProgress,
}

/// Where the next step begins.
#[derive(Clone, Debug)]
enum MovePosition {
    /// After this id; empty: at the first.
    Id(String),
    /// Beyond this many at the tail of a list.
    Tail(u64),
}

/// What became of the jobs so far.
#[derive(Clone, Debug, Default)]
pub struct MoveProgress {
    /// Accepted by the other bucket, now or in a run before, and ended here.
    pub moved: u64,
    /// Past their deadline, and ended as expired.
    pub expired: u64,
    /// Accepted by the other bucket while a replica began to hold them here: called twice.
    pub doubled: u64,
    /// What can't be moved, and why.
    pub left: BTreeMap<JobId, String>,
}

/// How a step ended.
#[derive(Clone, Debug)]
pub enum MoveStep {
    /// There may be more.
    On,
    /// The other bucket takes no more for now.
    Refused(Refused),
    /// A replica takes jobs here: nothing was moved in this step.
    Served(String),
    /// All that can be moved is.
    Done,
}

/// A job that was read.
struct LeavingJob {
    id: JobId,
    /// ms since the epoch.
    due_ms: Option<u64>,
    failures: u64,
    job: Result<Job, Unreadable>,
}

struct LeavingPage {
    now_ms: u64,
    /// With their heartbeats.
    consumers: HashMap<String, Option<u64>>,
    is_last: bool,
    jobs: Vec<LeavingJob>,
}

/// What is to be done about a job.
enum MovePlan {
    Move(Box<Submission>, Option<u64>),
    Expire,
    Leave(String),
}

/// What became of one.
enum MoveResult {
    /// With the id of the new job.
    Ended(Option<JobId>),
    Left(String),
    Later(Refused),
}

impl Mover {
    /// `replicas_are_others`: another list bucket of this name is served, and what its replicas hold isn't of this
    /// place.
    #[must_use]
    pub fn new(store: &Store, place: &BucketPlace, into: &Bucket, replicas_are_others: bool) -> Self {
        let settings = BucketSettings {
            name: place.bucket.clone(),
            kind: place.kind,
            key: place.key.clone(),
            // Nothing dies of being moved.
            deliveries: u32::MAX,
            ..BucketSettings::clone(&into.settings())
        };
        let redis_bucket = Arc::new(RedisBucket::new(store.clone(), settings));
        let (place, into) = (place.clone(), into.clone());
        let position = MovePosition::first(place.kind);
        Self {
            redis_bucket,
            place,
            into,
            replicas_are_others,
            position,
            later: None,
            progress: MoveProgress::default(),
        }
    }

    #[must_use]
    pub const fn progress(&self) -> &MoveProgress {
        &self.progress
    }

    /// Takes over what dead replicas hold. The name of a living one: its heartbeats go on.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn recover(&self, lease: Duration) -> Result<Option<String>, BucketError> {
        let mut watch = HeartbeatWatch::new(lease);
        let mut before: Option<HashMap<String, Option<u64>>> = None;
        loop {
            let mut consumers = self.page(0).await?.consumers;
            if self.replicas_are_others || consumers.is_empty() {
                return Ok(None);
            }
            if let Some(before) = &before {
                let moves = consumers.iter().find(|(name, beats)| before.get(*name) != Some(*beats));
                if let Some((name, _)) = moves {
                    return Ok(Some(name.clone()));
                }
            }
            for (dead, beats) in watch.look(Instant::now(), consumers.clone()) {
                let seen = beats.map(|beats| beats.to_string()).unwrap_or_default();
                if self.redis_bucket.take_over(&dead, &seen).await?.is_none() {
                    return Ok(Some(dead));
                }
                consumers.remove(&dead);
            }
            before = Some(consumers);
            tokio::time::sleep(beat_interval(lease)).await;
        }
    }

    /// Moves the next few jobs.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time. The step may be made again.
    pub async fn step(&mut self) -> Result<MoveStep, BucketError> {
        let page = self.page(MOST).await?;
        if let Some(replica) = page.consumers.into_keys().next().filter(|_| !self.replicas_are_others) {
            return Ok(MoveStep::Served(replica));
        }
        let ids: Vec<JobId> = page.jobs.iter().map(|job| job.id).collect();
        let plans = page.jobs.into_iter().map(|job| self.plan(job, page.now_ms)).collect();
        let (results, failed) = self.admit(plans).await;
        let stopped = self.settle(&ids, results).await?;
        match (failed, stopped) {
            (Some(error), _) => Err(error),
            (None, Some(refused)) => Ok(MoveStep::Refused(refused)),
            (None, None) if !page.is_last => Ok(MoveStep::On),
            (None, None) => Ok(self.end_pass()),
        }
    }

    /// Those of whose callers had no share of the room are looked at again.
    fn end_pass(&mut self) -> MoveStep {
        match self.later.take() {
            None => MoveStep::Done,
            Some(refused) => {
                self.position = MovePosition::first(self.place.kind);
                MoveStep::Refused(refused)
            }
        }
    }

    async fn page(&self, most: usize) -> Result<LeavingPage, BucketError> {
        let keys = &self.redis_bucket.keys;
        let keys = keys.and_takers(keys.and_parked(vec![keys.jobs(), keys.tally(), keys.replicas()]));
        let mut call = LEAVING.of(self.redis_bucket.kind).on(&keys);
        call.arg(self.position.to_string()).arg(most);
        let mut reply = Reply::new("leaving", self.redis_bucket.store.run::<Value>(&call).await?)?;
        let now_ms = reply.count()?;
        let consumers = reply.array()?.fields()?;
        let consumers = consumers.into_iter().map(|(name, beats)| (name, beats.parse().ok())).collect();
        let is_last = reply.text()? == "1";
        let mut jobs = Vec::new();
        while !reply.is_empty() {
            jobs.push(read(&mut reply.array()?, self.redis_bucket.kind)?);
        }
        Ok(LeavingPage { now_ms, consumers, is_last, jobs })
    }

    fn plan(&self, leaving: LeavingJob, now_ms: u64) -> MovePlan {
        let LeavingJob { id, due_ms, failures, job } = leaving;
        let job = match job {
            Ok(job) => job,
            Err(unreadable) => return MovePlan::Leave(unreadable.to_string()),
        };
        // A job that was called has begun before its deadline.
        let deadline_ms = job.expires_ms.filter(|_| failures == 0);
        if deadline_ms.is_some_and(|deadline| deadline <= now_ms) {
            return MovePlan::Expire;
        }
        if job.body.len() > LARGEST_BODY {
            return MovePlan::Leave(format!("its body of {} bytes is more than a bucket takes", job.body.len()));
        }
        let key = match IdempotencyKey::parse(&self.key_of(id)) {
            Ok(key) => key,
            Err(error) => return MovePlan::Leave(error.to_string()),
        };
        let due_ms = due_ms.or(job.due_ms).filter(|due| *due > now_ms);
        let submission = Submission {
            body: job.body,
            content_type: job.content_type,
            method: job.method,
            path: job.path,
            headers: job.headers,
            caller: job.caller,
            traceparent: job.traceparent,
            idempotency_key: Some(key),
            start: due_ms.map_or(Start::AtOnce, Start::At),
            expires_in: None,
            retries: job.retries,
            timeout: job.timeout,
        };
        MovePlan::Move(Box::new(submission), deadline_ms)
    }

    /// By which the new job is known. Jobs of two places of one name may have the same id.
    fn key_of(&self, id: JobId) -> String {
        let BucketPlace { bucket, key, .. } = &self.place;
        match key {
            None => format!("{bucket}/{id}"),
            Some(key) => {
                let key = fingerprint(&Submission { body: key.clone().into(), ..Submission::default() });
                format!("{bucket}/{id}/{}", &key[..KEY_DIGITS])
            }
        }
    }

    /// In the order of `plans`, up to the first that the other bucket didn't answer.
    async fn admit(&self, plans: Vec<MovePlan>) -> (Vec<MoveResult>, Option<BucketError>) {
        let mut submissions = Vec::new();
        let mut others = Vec::new();
        for plan in plans {
            others.push(match plan {
                MovePlan::Move(submission, deadline_ms) => {
                    submissions.push((*submission, deadline_ms));
                    None
                }
                MovePlan::Expire => Some(MoveResult::Ended(None)),
                MovePlan::Leave(why) => Some(MoveResult::Left(why)),
            });
        }
        let mut judged = self.into.admit_accepted(submissions).await.into_iter();
        let mut results = Vec::new();
        for other in others {
            let result = match other {
                Some(result) => Ok(result),
                None => {
                    judged.next().unwrap_or(Err(BucketError::Closing)).map_or_else(refusal, |judged| Ok(result(judged)))
                }
            };
            match result {
                Ok(result) => results.push(result),
                Err(error) => return (results, Some(error)),
            }
        }
        (results, None)
    }

    /// Ends those that the other bucket has, and goes on behind all that need no other look. What stops the move for
    /// now.
    async fn settle(&mut self, ids: &[JobId], results: Vec<MoveResult>) -> Result<Option<Refused>, BucketError> {
        let (mut ended, mut stay, mut stopped) = (Vec::new(), 0, None);
        let mut position = self.position.clone();
        for (id, result) in ids.iter().zip(results) {
            let goes_on = stopped.is_none();
            match result {
                MoveResult::Ended(new) => ended.push((*id, new)),
                MoveResult::Left(why) => {
                    stay += u64::from(goes_on);
                    self.progress.left.insert(*id, why);
                }
                MoveResult::Later(refused) if refused.reason == RefusalReason::ShareUsedUp => {
                    stay += u64::from(goes_on);
                    self.later = Some(sooner(self.later.take(), refused));
                }
                MoveResult::Later(refused) => {
                    stopped.get_or_insert(refused);
                }
            }
            if stopped.is_none() {
                position = self.position.after(*id, stay);
            }
        }
        self.end(&ended).await?;
        self.position = position;
        Ok(stopped)
    }

    async fn end(&mut self, ended: &[(JobId, Option<JobId>)]) -> Result<(), BucketError> {
        if ended.is_empty() {
            return Ok(());
        }
        let settings = self.redis_bucket.settings();
        let mut call = MOVED.of(self.redis_bucket.kind).on(&self.redis_bucket.keys.to_cancel());
        call.arg(settings.keep.packed()).arg(self.into.name().as_str());
        call.arg(match &self.position {
            MovePosition::Id(_) => 0,
            MovePosition::Tail(stay) => *stay,
        });
        for (id, new) in ended {
            call.arg(id.to_string()).arg(new.map(|new| new.to_string()).unwrap_or_default());
        }
        let gone: u64 = self.redis_bucket.store.run_durably(&call).await?;
        let expired = ended.iter().filter(|(_, new)| new.is_none()).count() as u64;
        let missing = (ended.len() as u64).saturating_sub(gone);
        self.progress.expired += expired;
        self.progress.moved += (ended.len() as u64).saturating_sub(expired + missing);
        self.progress.doubled += missing;
        Ok(())
    }
}

impl MovePosition {
    const fn first(kind: Kind) -> Self {
        match kind {
            Kind::Stream => Self::Id(String::new()),
            Kind::List => Self::Tail(0),
        }
    }

    /// Behind the job `id`, with this many more before it that stay.
    fn after(&self, id: JobId, stay: u64) -> Self {
        match self {
            Self::Id(_) => Self::Id(id.to_string()),
            Self::Tail(before) => Self::Tail(before + stay),
        }
    }
}

impl std::fmt::Display for MovePosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Id(id) => f.write_str(id),
            Self::Tail(stay) => write!(f, "{stay}"),
        }
    }
}

fn read(reply: &mut Reply, kind: Kind) -> Result<LeavingJob, BucketError> {
    let id = reply.parse::<JobId>()?;
    let job = match kind {
        Kind::Stream => entry::decode(id, &reply.array()?.pairs()?),
        Kind::List => element::decode(id, &reply.bytes()?),
    };
    let (due, failures) = (reply.shown()?, reply.shown()?);
    // A zset writes what is large as 1.7e+12.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole ms, far below 2^53")]
    let due_ms = due.parse::<f64>().ok().filter(|due| *due >= 0.0).map(|due| due as u64);
    Ok(LeavingJob { id, due_ms, failures: failures.parse().unwrap_or(0), job })
}

fn result(judged: Judgement) -> MoveResult {
    match judged.admission {
        Admission::Admitted(admitted) => MoveResult::Ended(Some(admitted.id)),
        Admission::Refused(refused) => match refused.reason {
            RefusalReason::NeverFits => MoveResult::Left("it is larger than all that the bucket may hold".to_owned()),
            RefusalReason::IdempotencyConflict => {
                MoveResult::Left("its caller has another job under the idempotency key that it would get".to_owned())
            }
            _ => MoveResult::Later(refused),
        },
    }
}

fn refusal(error: BucketError) -> Result<MoveResult, BucketError> {
    match error {
        unsupported @ BucketError::Unsupported(_) => Ok(MoveResult::Left(unsupported.to_string())),
        error => Err(error),
    }
}

/// The one that may be over first.
fn sooner(before: Option<Refused>, refused: Refused) -> Refused {
    match before {
        Some(before) if before.retry_after <= refused.retry_after => before,
        _ => refused,
    }
}
