//! Strays: jobs that a living replica holds without knowing it, because the answer to a take was lost. Nobody takes a
//! job from a living replica, so it gives them back itself, before it takes again.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::Scripts;

static SCRIPTS: Scripts = Scripts::new("orphaned_claims", include_str!("orphaned_claims.lua"));

/// Returned in one call.
const MOST: usize = 500;

/// What a replica knows that it holds: the jobs whose claims live.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    claims: HashMap<Bytes, u32>,
    settling: Settling,
    /// There may be others.
    doubt: bool,
}

/// The batch that is on its way, or has no answer yet. Its jobs are claimed as long as it has not been carried out: one
/// that it parked may be taken again meanwhile, and so have another claim, or be a stray.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Settling {
    batch: u64,
    jobs: HashSet<Bytes>,
}

/// Lives as long as the claim that it is part of.
#[derive(Debug)]
pub(crate) struct Hold {
    job: Bytes,
    held: Held,
    settling: bool,
}

impl Held {
    /// By the job's id.
    pub(crate) fn hold(&self, job: Bytes) -> Hold {
        *self.known().claims.entry(job.clone()).or_default() += 1;
        Hold { job, held: self.clone(), settling: false }
    }

    pub(crate) fn doubt(&self) {
        self.known().doubt = true;
    }

    /// The jobs that are known, and those that are being settled, where there may be others.
    fn in_doubt(&self) -> Option<(Vec<Bytes>, Settling)> {
        let known = self.known();
        known.doubt.then(|| (known.claims.keys().cloned().collect(), known.settling.clone()))
    }

    fn sure(&self) {
        self.known().doubt = false;
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn release(&mut self, job: &Bytes) {
        if let Some(claims) = self.claims.get_mut(job) {
            *claims -= 1;
            if *claims == 0 {
                self.claims.remove(job);
            }
        }
    }
}

impl Hold {
    /// Into a batch. One batch is settled at a time.
    pub(crate) fn settle_in(&mut self, batch: u64) {
        let mut known = self.held.known();
        known.release(&self.job);
        known.settling.batch = batch;
        known.settling.jobs.insert(self.job.clone());
        self.settling = true;
    }

    /// Out of the batch again, which changed nothing.
    pub(crate) fn keep(&mut self) {
        let mut known = self.held.known();
        known.settling.jobs.remove(&self.job);
        *known.claims.entry(self.job.clone()).or_default() += 1;
        self.settling = false;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut known = self.held.known();
        if self.settling {
            known.settling.jobs.remove(&self.job);
        } else {
            known.release(&self.job);
        }
    }
}

impl RedisBucket {
    /// Where there is doubt, returns what `consumer` holds beyond `held`. `takes` counts its takes, and such questions.
    pub(crate) async fn give_back_strays(
        &self,
        consumer: &str,
        held: &Held,
        takes: &AtomicU64,
    ) -> Result<(), BucketError> {
        while let Some((known, settling)) = held.in_doubt() {
            let keys = &self.keys;
            let common = vec![keys.jobs(), keys.tally(), keys.replicas(), keys.takes(), keys.batches()];
            let mut call = SCRIPTS.of(self.kind).on(&keys.and_held(common, consumer));
            call.arg(consumer).arg(takes.fetch_add(1, Ordering::Relaxed) + 1).arg(MOST);
            call.arg(settling.batch).arg(settling.jobs.len());
            for job in settling.jobs.into_iter().chain(known) {
                call.arg(&job[..]);
            }
            let given_back: usize = self.store.run_durably(&call).await?;
            if given_back < MOST {
                held.sure();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_known_as_long_as_its_claim_lives() {
        let (held, job) = (Held::default(), Bytes::from_static(b"1-0"));
        let claim = held.hold(job.clone());
        assert_eq!(held.in_doubt(), None);
        held.doubt();
        assert_eq!(held.in_doubt(), Some((vec![job], Settling::default())));
        drop(claim);
        assert_eq!(held.in_doubt(), Some((Vec::new(), Settling::default())));
        held.sure();
        assert_eq!(held.in_doubt(), None);
    }

    #[test]
    fn a_job_that_is_parked_and_taken_again_is_known_apart_from_its_settlement() {
        let (held, job) = (Held::default(), Bytes::from_static(b"1-0"));
        let mut parked = held.hold(job.clone());
        parked.settle_in(7);
        held.doubt();
        let settling = Settling { batch: 7, jobs: HashSet::from([job.clone()]) };
        assert_eq!(held.in_doubt(), Some((Vec::new(), settling.clone())));
        let again = held.hold(job.clone());
        assert_eq!(held.in_doubt(), Some((vec![job.clone()], settling)));
        drop(parked);
        assert_eq!(held.in_doubt(), Some((vec![job], Settling { batch: 7, jobs: HashSet::new() })));
        drop(again);
    }
}
