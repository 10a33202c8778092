//! Moves the jobs of a place that no process serves into another bucket: each is accepted there as a new job, and then
//! cancelled here, with a reason that names the new job.
//!
//! The buckets may be in different slots of a Redis Cluster, so one script can't do both. The idempotency key of the
//! new job is derived from the old id: a move that was killed in between can be repeated; it finds the new job and ends
//! the old one.

mod admit;
mod leaving;
mod plan;
mod settle;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dripfeed_job::JobId;
use dripfeed_store::Store;

use self::leaving::MovePosition;
use crate::admission::Refused;
use crate::bucket::Bucket;
use crate::deliver::heartbeat_watch::{HeartbeatWatch, beat_interval};
use crate::error::BucketError;
use crate::inspect::served::bucket_place::BucketPlace;
use crate::script::redis_bucket::RedisBucket;
use crate::settings::{BucketSettings, Kind};

/// The maximum number of jobs moved in one step.
const MOST: usize = 200;

/// Moves all jobs of one place, step by step.
pub struct Mover {
    redis_bucket: Arc<RedisBucket>,
    place: BucketPlace,
    into: Bucket,
    /// The consumers that take jobs here belong to another list bucket of this name.
    replicas_are_others: bool,
    position: MovePosition,
    /// Of the jobs that this pass skipped because their callers' shares are used up: the refusal with the first retry.
    later: Option<Refused>,
    progress: MoveProgress,
}

/// The progress of a move.
#[derive(Clone, Debug, Default)]
pub struct MoveProgress {
    /// Accepted by the other bucket, now or in an earlier run, and ended here.
    pub moved: u64,
    /// Past their deadline, and ended as expired.
    pub expired: u64,
    /// Accepted by the other bucket while a replica claimed them here: called twice.
    pub doubled: u64,
    /// Jobs that can't be moved, and why.
    pub left: BTreeMap<JobId, String>,
}

/// How a step ended.
#[derive(Clone, Debug)]
pub enum MoveStep {
    /// There may be more jobs.
    On,
    /// The target bucket has no room now.
    Refused(Refused),
    /// This replica takes jobs here: nothing was moved in this step.
    Served(String),
    /// All jobs that can be moved were moved.
    Done,
}

impl Mover {
    /// `replicas_are_others`: another list bucket of this name is served, and the jobs claimed by its replicas don't
    /// belong to this place.
    #[must_use]
    pub fn new(store: &Store, place: &BucketPlace, into: &Bucket, replicas_are_others: bool) -> Self {
        let settings = BucketSettings {
            name: place.bucket.clone(),
            kind: place.kind,
            key: place.key.clone(),
            // No job is dead-lettered for its number of deliveries while it is moved.
            deliveries: u32::MAX,
            ..BucketSettings::clone(&into.settings())
        };
        let redis_bucket = Arc::new(RedisBucket::new(store.clone(), settings, None));
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

    /// Recovers the jobs of dead replicas. Returns the name of a replica that is alive, or `None` without one.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn recover(&self, lease: Duration) -> Result<Option<String>, BucketError> {
        let mut watch = HeartbeatWatch::new(lease);
        let mut before: Option<HashMap<String, Option<u64>>> = None;
        loop {
            let mut consumers = leaving::page(&self.redis_bucket, &self.position, 0).await?.consumers;
            if self.replicas_are_others || consumers.is_empty() {
                return Ok(None);
            }
            if let Some(before) = &before {
                let moves = consumers.iter().find(|(name, beats)| before.get(*name) != Some(*beats));
                if let Some((name, _)) = moves {
                    return Ok(Some(name.clone()));
                }
            }
            for (dead, beats) in watch.observe(Instant::now(), consumers.clone()) {
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

    /// Moves the next jobs, at most 200.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time. The step may be made again.
    pub async fn step(&mut self) -> Result<MoveStep, BucketError> {
        let page = leaving::page(&self.redis_bucket, &self.position, MOST).await?;
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
            (None, None) => self.end_pass().await,
        }
    }

    /// Ends the move, or begins another pass if jobs were skipped because their callers' shares are used up.
    async fn end_pass(&mut self) -> Result<MoveStep, BucketError> {
        let Some(refused) = self.later.take() else {
            // An empty stream would be in the way of a list bucket with the same key.
            if self.place.kind == Kind::Stream {
                self.redis_bucket.remove_empty_stream().await?;
            }
            return Ok(MoveStep::Done);
        };
        self.position = MovePosition::first(self.place.kind);
        Ok(MoveStep::Refused(refused))
    }
}
