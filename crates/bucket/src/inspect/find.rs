//! Finds a job by id, in any state.

use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::outcome::failed_attempt::FailedAttempt;
use dripfeed_job::{JobId, JobState, Outcome, Priority};

use crate::bucket::Bucket;
use crate::ended::ended_job::{self, EndedJob};
use crate::error::BucketError;
use crate::inspect::job_payload::JobPayload;
use crate::kind::list::ListScan;
use crate::script::redis_bucket::{RedisBucket, WaitFor};
use crate::script::reply::Reply;
use crate::script::scripts::Scripts;
use crate::settings::Kind;

static SCRIPTS: Scripts =
    Scripts::of_kinds("find", include_str!("../kind/stream/find.lua"), include_str!("../kind/list/find.lua"));

/// The state of a job, with its payload only if requested.
#[derive(Clone, Debug)]
pub struct JobView {
    pub id: JobId,
    pub state: JobState,
    /// The number of attempts begun.
    pub attempts: u32,
    /// When a parked or delayed job is due, ms since the epoch.
    pub due_ms: Option<u64>,
    pub caller: Option<String>,
    /// `None` if the job has ended.
    pub priority: Option<Priority>,
    /// `None` without a group, or if the job has ended.
    pub group: Option<String>,
    /// The replica that has claimed the job, while it is in flight.
    pub consumer: Option<String>,
    /// The outcome, and when it was recorded, ms since the epoch.
    pub outcome: Option<(Outcome, u64)>,
    /// The latest failed attempts. In a list bucket, only ended jobs have them.
    pub failed: Vec<FailedAttempt>,
    /// The dead letter from which this job was made, with another payload; only while the job is in the bucket.
    pub replay_of: Option<JobId>,
    /// `None` if it wasn't requested, or the job has ended.
    pub payload: Option<JobPayload>,
}

impl From<EndedJob> for JobView {
    fn from(ended: EndedJob) -> Self {
        Self {
            id: ended.id,
            state: JobState::Ended(ended.outcome.result),
            attempts: ended.outcome.attempts,
            due_ms: None,
            caller: ended.outcome.caller.clone(),
            priority: None,
            group: None,
            consumer: None,
            outcome: Some((ended.outcome, ended.settled_ms)),
            failed: ended.failed,
            replay_of: None,
            payload: None,
        }
    }
}

impl JobView {
    /// Reads a job as view.lua returns it.
    pub(crate) fn read(reply: &mut Reply) -> Result<Self, BucketError> {
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        let id = reply.parse()?;
        let state = reply.parse::<JobState>()?;
        let failures = u32::try_from(reply.count()?).unwrap_or(u32::MAX);
        Ok(Self {
            id,
            state,
            attempts: failures + u32::from(state == JobState::InFlight),
            due_ms: reply.shown()?.parse().ok(),
            caller: some(reply.shown()?),
            consumer: some(reply.shown()?),
            priority: Some(reply.shown()?.parse().unwrap_or_default()),
            group: some(reply.shown()?),
            outcome: None,
            failed: Vec::new(),
            replay_of: None,
            payload: None,
        })
    }
}

/// Whether the payload of a job is read, too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Numbers,
    Payload,
}

impl Detail {
    /// The argument of find.lua.
    const fn arg(self) -> &'static str {
        match self {
            Self::Numbers => "",
            Self::Payload => "1",
        }
    }
}

impl Bucket {
    /// Returns the state or outcome of a job, or `None` if it is unknown, or its outcome has expired.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn find(&self, id: JobId) -> Result<Option<JobView>, BucketError> {
        self.look_for(id, Detail::Numbers).await
    }

    /// As [`Bucket::find`], with the payload of a job that hasn't ended.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn find_with_payload(&self, id: JobId) -> Result<Option<JobView>, BucketError> {
        self.look_for(id, Detail::Payload).await
    }

    async fn look_for(&self, id: JobId, detail: Detail) -> Result<Option<JobView>, BucketError> {
        match self.redis_bucket.kind {
            Kind::Stream => self.redis_bucket.find_in_stream(id, detail).await,
            Kind::List => {
                // An outcome is found by its id, but for a job the lists must be scanned.
                if let Some(ended) = self.redis_bucket.outcome(id).await? {
                    return Ok(Some(ended.into()));
                }
                match self.redis_bucket.find_in_lists(id, detail).await? {
                    None => Ok(self.redis_bucket.outcome(id).await?.map(JobView::from)),
                    found => Ok(found),
                }
            }
        }
    }

    /// Finds a job by the idempotency key of a caller, or of nobody. Returns `None` if it is unknown or has expired.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn find_by_key(
        &self,
        caller: Option<&str>,
        key: &IdempotencyKey,
    ) -> Result<Option<JobView>, BucketError> {
        let mut get = redis::cmd("GET");
        get.arg(self.redis_bucket.keys.once(caller, key.as_str()));
        // The id of the job and a fingerprint, as admit.lua writes them.
        let named: Option<String> = self.redis_bucket.store.command(&get).await?;
        let id = named.and_then(|named| named.split(' ').next()?.parse::<JobId>().ok());
        match id {
            Some(id) => self.find(id).await,
            None => Ok(None),
        }
    }
}

impl RedisBucket {
    async fn find_in_stream(&self, id: JobId, detail: Detail) -> Result<Option<JobView>, BucketError> {
        let keys = &self.keys;
        let keys = [keys.jobs(), keys.parked(), keys.attempts(), keys.outcomes(), keys.failed()];
        let mut call = SCRIPTS.of(Kind::Stream).on(&keys);
        call.arg(id.to_string()).arg(detail.arg());
        let call = if detail == Detail::Payload { call.with_large_reply() } else { call };
        let (_, mut reply) = self.read("find", &call, WaitFor::Reply).await?;
        if reply.is_empty() {
            Ok(None)
        } else if reply.begins_with("ended") {
            reply.text()?;
            Ok(ended_job::parse(id, &reply.bytes()?).map(JobView::from))
        } else {
            let mut job = JobView::read(&mut reply)?;
            job.failed = FailedAttempt::read_all(&String::from_utf8_lossy(&reply.bytes()?));
            job.replay_of = reply.shown()?.parse().ok();
            job.payload = JobPayload::of_reply(&mut reply)?;
            Ok(Some(job))
        }
    }

    async fn find_in_lists(&self, id: JobId, detail: Detail) -> Result<Option<JobView>, BucketError> {
        let id = id.to_string();
        // Replicas take jobs during the scan. A job taken meanwhile is found by the second scan of their lists.
        let lists = [self.taken_lists().await?, vec![ListScan::of_jobs(&self.keys)], self.taken_lists().await?];
        for mut scan in lists.into_iter().flatten() {
            while let Some(mut reply) = scan.next(self, &SCRIPTS, &[&id, detail.arg()]).await? {
                if !reply.is_empty() {
                    let mut found = reply.array()?;
                    let mut job = JobView::read(&mut found)?;
                    job.payload = JobPayload::of_reply(&mut found)?;
                    return Ok(Some(job));
                }
            }
        }
        Ok(None)
    }
}
