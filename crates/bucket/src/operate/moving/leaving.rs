//! Reads the jobs that are to be moved, in pages.

use std::collections::HashMap;
use std::fmt;

use dripfeed_job::{Job, JobId, Unreadable, element, entry};
use redis::Value;

use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::script::reply::Reply;
use crate::script::scripts::Scripts;
use crate::settings::Kind;

static LEAVING: Scripts = Scripts::new("leaving", include_str!("../leaving.lua"));

/// Where the next step begins.
#[derive(Clone, Debug)]
pub(super) enum MovePosition {
    /// In a stream: after this id; empty for the first job.
    Id(String),
    /// In a list: after this number of elements, counted from the tail.
    Tail(u64),
}

/// A job that was read.
pub(super) struct LeavingJob {
    pub(super) id: JobId,
    /// ms since the epoch.
    pub(super) due_ms: Option<u64>,
    pub(super) failures: u64,
    /// The job has failed for good, and waits for room among the dead letters.
    pub(super) is_dead: bool,
    pub(super) job: Result<Job, Unreadable>,
}

pub(super) struct LeavingPage {
    pub(super) now_ms: u64,
    /// The consumers that take jobs here, and their heartbeats; `None` if a consumer isn't a member.
    pub(super) consumers: HashMap<String, Option<u64>>,
    pub(super) is_last: bool,
    pub(super) jobs: Vec<LeavingJob>,
}

/// Reads the next jobs from `position` on, at most `most`.
pub(super) async fn page(
    redis_bucket: &RedisBucket,
    position: &MovePosition,
    most: usize,
) -> Result<LeavingPage, BucketError> {
    let keys = &redis_bucket.keys;
    let keys = keys.and_takers(keys.and_parked(vec![keys.jobs(), keys.tally(), keys.replicas()]));
    let mut call = LEAVING.of(redis_bucket.kind).on(&keys);
    call.arg(position.to_string()).arg(most);
    let answer = || async { Ok(redis_bucket.store.run::<Value>(&call).await?) };
    let mut reply = Reply::new("leaving", redis_bucket.in_own_kind(answer).await?)?;
    let now_ms = reply.count()?;
    let consumers = reply.array()?.fields()?;
    let consumers = consumers.into_iter().map(|(name, beats)| (name, beats.parse().ok())).collect();
    let is_last = reply.text()? == "1";
    let mut jobs = Vec::new();
    while !reply.is_empty() {
        jobs.push(read(&mut reply.array()?, redis_bucket.kind)?);
    }
    Ok(LeavingPage { now_ms, consumers, is_last, jobs })
}

impl MovePosition {
    pub(super) const fn first(kind: Kind) -> Self {
        match kind {
            Kind::Stream => Self::Id(String::new()),
            Kind::List => Self::Tail(0),
        }
    }

    /// The position after the job `id`. `stay`: how many jobs from this position up to that one stay in the list.
    pub(super) fn after(&self, id: JobId, stay: u64) -> Self {
        match self {
            Self::Id(_) => Self::Id(id.to_string()),
            Self::Tail(before) => Self::Tail(before + stay),
        }
    }
}

impl fmt::Display for MovePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
    // Redis may write a large score as 1.7e+12.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole ms, far below 2^53")]
    let due_ms = due.parse::<f64>().ok().filter(|due| *due >= 0.0).map(|due| due as u64);
    Ok(LeavingJob { id, due_ms, failures: failures.parse().unwrap_or(0), is_dead: reply.shown()? == "1", job })
}
