//! Target buckets, or callers in them, without room: they get no further outcome jobs in the same round.

use std::collections::HashSet;
use std::time::Duration;

use dripfeed_job::BucketName;

use super::outcome_job::OutcomeJob;
use crate::admission::{RefusalReason, Refused};

/// The targets that one round has found to be without room, unknown or unreachable.
#[derive(Default)]
pub(super) struct Blocked {
    buckets: HashSet<BucketName>,
    callers: HashSet<(BucketName, Option<String>)>,
    /// The shortest time after which one of them may have room.
    retry_after: Option<Duration>,
    /// One entry for each outcome job that is larger than the capacity of its target.
    oversized: Vec<BucketName>,
    /// Whether this process doesn't know one of the targets.
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
            // Smaller jobs may fit.
            RefusalReason::NeverFits => self.oversized.push(job.to.clone()),
            _ => self.block(&job.to),
        }
        let waits = [self.retry_after, refused.retry_after].into_iter().flatten();
        self.retry_after = waits.min();
    }

    /// Blocks a target bucket until the end of the round.
    pub(super) fn block(&mut self, bucket: &BucketName) {
        self.buckets.insert(bucket.clone());
    }

    /// Blocks a target bucket that this process doesn't know. Another process may know it.
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

    /// Returns the targets of the oversized jobs that were found since the last call.
    pub(super) fn take_oversized(&mut self) -> Vec<BucketName> {
        std::mem::take(&mut self.oversized)
    }

    pub(super) const fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}
