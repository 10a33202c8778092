//! Orphaned claims: jobs that a live replica has claimed and nobody works on, because the reply to its take was lost,
//! or a task that had the claim has panicked. No other replica recovers the jobs of a live one, so it requeues them
//! before its next take.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dripfeed_job::JobId;
use parking_lot::Mutex;

use crate::error::BucketError;
use crate::script::constants::BATCH_JOBS;
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::Scripts;

pub(crate) static SCRIPTS: Scripts = Scripts::new("orphaned_claims", include_str!("orphaned_claims.lua"));

/// What a replica knows that it holds: the jobs whose claims live.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenClaims(Arc<Mutex<ClaimState>>);

#[derive(Debug, Default)]
struct ClaimState {
    claims: HashMap<JobId, u32>,
    settling: SettlingBatch,
    /// How often there may have been others, and how many of these times were looked into.
    doubts: u64,
    cleared: u64,
}

/// The batch that is on its way, or has no answer yet. Its jobs are claimed as long as it has not been carried out: one
/// that it parked may be taken again meanwhile, and so have another claim, or be orphaned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SettlingBatch {
    batch: u64,
    jobs: HashSet<JobId>,
}

/// Lives as long as the claim that it is part of.
#[derive(Debug)]
pub(crate) struct ClaimGuard {
    job: JobId,
    open_claims: OpenClaims,
    settling: bool,
}

impl OpenClaims {
    pub(crate) fn add(&self, job: JobId) -> ClaimGuard {
        *self.0.lock().claims.entry(job).or_default() += 1;
        ClaimGuard { job, open_claims: self.clone(), settling: false }
    }

    /// The replica may hold jobs that it doesn't know of.
    pub(crate) fn doubt(&self) {
        self.0.lock().doubts += 1;
    }

    /// How often that was so, unless all was looked into.
    fn doubts(&self) -> Option<u64> {
        let state = self.0.lock();
        Some(state.doubts).filter(|doubts| *doubts > state.cleared)
    }

    /// What came after the first `doubts` times isn't looked into yet.
    fn clear(&self, doubts: u64) {
        self.0.lock().cleared = doubts;
    }

    /// The jobs that are known, and those that are being settled.
    fn known(&self) -> (Vec<JobId>, SettlingBatch) {
        let state = self.0.lock();
        (state.claims.keys().copied().collect(), state.settling.clone())
    }
}

impl ClaimState {
    fn release(&mut self, job: JobId) {
        if let Some(claims) = self.claims.get_mut(&job) {
            *claims -= 1;
            if *claims == 0 {
                self.claims.remove(&job);
            }
        }
    }
}

impl ClaimGuard {
    /// Into a batch. One batch is settled at a time.
    pub(crate) fn join_batch(&mut self, batch: u64) {
        let mut state = self.open_claims.0.lock();
        state.release(self.job);
        state.settling.batch = batch;
        state.settling.jobs.insert(self.job);
        self.settling = true;
    }

    /// Out of the batch again, which changed nothing.
    pub(crate) fn leave_batch(&mut self) {
        let mut state = self.open_claims.0.lock();
        state.settling.jobs.remove(&self.job);
        *state.claims.entry(self.job).or_default() += 1;
        self.settling = false;
    }
}

impl Drop for ClaimGuard {
    fn drop(&mut self) {
        let mut state = self.open_claims.0.lock();
        if self.settling {
            state.settling.jobs.remove(&self.job);
        } else {
            state.release(self.job);
        }
    }
}

impl RedisBucket {
    /// Where there may be some, requeues what `consumer` has claimed beyond `open_claims`. `takes` counts its takes,
    /// and such questions.
    pub(crate) async fn requeue_orphans(
        &self,
        consumer: &str,
        open_claims: &OpenClaims,
        takes: &AtomicU64,
    ) -> Result<(), BucketError> {
        let Some(doubts) = open_claims.doubts() else { return Ok(()) };
        let mut place = String::new();
        loop {
            let (open, settling) = open_claims.known();
            let keys = &self.keys;
            let common = vec![keys.jobs(), keys.tally(), keys.replicas(), keys.takes(), keys.batches(), keys.notices()];
            let mut call = SCRIPTS.of(self.kind).on(&keys.and_held(common, consumer));
            call.arg(consumer).arg(takes.fetch_add(1, Ordering::Relaxed) + 1).arg(place).arg(BATCH_JOBS);
            call.arg(settling.batch).arg(settling.jobs.len());
            for job in settling.jobs.into_iter().chain(open) {
                call.arg(job.to_string());
            }
            place = self.store.run_durably(&call).await?;
            if place.is_empty() {
                open_claims.clear(doubts);
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
