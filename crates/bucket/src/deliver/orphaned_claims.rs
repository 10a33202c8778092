//! Orphaned claims: jobs that a live replica has claimed without knowing it, because the reply to its take was lost,
//! because the task that had the claim has panicked, or because Redis has lost their settlement. Other replicas recover
//! only the jobs of dead ones, so the replica requeues its orphans before its next take.

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

/// The jobs that a replica knows it has claimed.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenClaims(Arc<Mutex<ClaimState>>);

#[derive(Debug, Default)]
struct ClaimState {
    /// Number of claims of each job.
    claims: HashMap<JobId, u32>,
    settling: SettlingBatch,
    /// How often a claim may have been lost, and up to which of these the orphans were requeued.
    doubts: u64,
    cleared: u64,
}

/// The batch that is being settled. Whether the replica still has its jobs depends on whether the script was executed:
/// after that, a job that the batch parked may have been claimed again, or be orphaned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SettlingBatch {
    batch: u64,
    jobs: HashSet<JobId>,
}

/// A part of a claim, which removes the job from `OpenClaims` when it is dropped.
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

    /// Notes that a claim may have been lost.
    pub(crate) fn doubt(&self) {
        self.0.lock().doubts += 1;
    }

    /// The number of doubts. Returns `None` if the orphans were requeued since the last one.
    fn doubts(&self) -> Option<u64> {
        let state = self.0.lock();
        Some(state.doubts).filter(|doubts| *doubts > state.cleared)
    }

    /// Notes that the orphans were requeued after the first `doubts` doubts.
    fn clear(&self, doubts: u64) {
        self.0.lock().cleared = doubts;
    }

    /// The claimed jobs, and those that are being settled.
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
    /// Moves the job to the batch that is about to be settled. There is one batch at a time.
    pub(crate) fn join_batch(&mut self, batch: u64) {
        let mut state = self.open_claims.0.lock();
        state.release(self.job);
        state.settling.batch = batch;
        state.settling.jobs.insert(self.job);
        self.settling = true;
    }

    /// Moves the job back to the claims, after its batch was refused.
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
    /// After a doubt, requeues the jobs that `consumer` has claimed and that aren't in `open_claims`. `takes` counts
    /// its takes and these calls.
    pub(crate) async fn requeue_orphans(
        &self,
        consumer: &str,
        open_claims: &OpenClaims,
        takes: &AtomicU64,
    ) -> Result<(), BucketError> {
        let Some(doubts) = open_claims.doubts() else { return Ok(()) };
        let mut cursor = String::new();
        loop {
            let (open, settling) = open_claims.known();
            let keys = &self.keys;
            let common = vec![keys.jobs(), keys.tally(), keys.replicas(), keys.takes(), keys.batches(), keys.notices()];
            let mut call = SCRIPTS.of(self.kind).on(&keys.and_held(common, consumer));
            call.arg(consumer).arg(takes.fetch_add(1, Ordering::Relaxed) + 1).arg(cursor).arg(BATCH_JOBS);
            call.arg(settling.batch).arg(settling.jobs.len());
            for job in settling.jobs.into_iter().chain(open) {
                call.arg(job.to_string());
            }
            cursor = self.store.run_durably(&call).await?;
            if cursor.is_empty() {
                open_claims.clear(doubts);
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests;
