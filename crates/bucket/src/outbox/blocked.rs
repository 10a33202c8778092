//! Target buckets without room, which aren't tried again for now.

use std::collections::HashSet;
use std::time::Duration;

use dripfeed_job::BucketName;

use super::outcome_job::OutcomeJob;
use crate::admission::{RefusalReason, Refused};

/// What one look at the outbox has found to have no room.
#[derive(Default)]
pub(super) struct Blocked {
    buckets: HashSet<BucketName>,
    callers: HashSet<(BucketName, Option<String>)>,
    /// The first of them that may have room again.
    retry_after: Option<Duration>,
    /// For each job that is larger than its target may ever be.
    oversized: Vec<BucketName>,
    /// Whether this process doesn't know one of them.
    is_unknown: bool,
}

impl Blocked {
    pub(super) fn blocks(&self, job: &OutcomeJob) -> bool {
        self.buckets.contains(&job.to) || self.callers.contains(&(job.to.clone(), job.caller().map(str::to_owned)))
    }

    pub(super) fn refused(&mut self, job: &OutcomeJob, refused: &Refused) {
        match refused.reason {
            RefusalReason::CallerLimit | RefusalReason::ShareUsedUp => {
                self.callers.insert((job.to.clone(), job.caller().map(str::to_owned)));
            }
            // Others may be small enough.
            RefusalReason::NeverFits => self.oversized.push(job.to.clone()),
            _ => self.block(&job.to),
        }
        let waits = [self.retry_after, refused.retry_after].into_iter().flatten();
        self.retry_after = waits.min();
    }

    /// For now nothing more is given to it.
    pub(super) fn block(&mut self, bucket: &BucketName) {
        self.buckets.insert(bucket.clone());
    }

    /// This process doesn't know it; another one may.
    pub(super) fn block_unknown(&mut self, bucket: &BucketName) {
        self.block(bucket);
        self.is_unknown = true;
    }

    pub(super) const fn has_unknown(&self) -> bool {
        self.is_unknown
    }

    pub(super) fn has_all(&self, buckets: impl Iterator<Item = BucketName>) -> bool {
        let mut buckets = buckets.peekable();
        buckets.peek().is_some() && buckets.all(|bucket| self.buckets.contains(&bucket))
    }

    /// The targets of those found since the last call.
    pub(super) fn take_oversized(&mut self) -> Vec<BucketName> {
        std::mem::take(&mut self.oversized)
    }

    pub(super) const fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}
