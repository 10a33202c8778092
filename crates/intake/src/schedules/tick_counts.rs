//! Counts of ticks by outcome.

use dripfeed_bucket::{Bucket, TickEnd};

use crate::intake::Intake;
use crate::metrics::TickOutcome;

#[derive(Default)]
pub(super) struct TickCounts {
    submitted: u64,
    missed: u64,
    overlapped: u64,
}

impl TickCounts {
    pub(super) fn add(&mut self, end: TickEnd, missed: u64) {
        match end {
            TickEnd::Submitted(_) => self.submitted += 1,
            TickEnd::Missed => self.missed += 1,
            TickEnd::Overlapped => self.overlapped += 1,
            TickEnd::Refused { .. } => {}
            TickEnd::Gone => return,
        }
        self.missed += missed;
    }

    pub(super) fn report(&self, intake: &Intake, bucket: &Bucket) {
        let (metrics, name) = (intake.metrics(), bucket.name());
        metrics.accepted(name, self.submitted);
        metrics.ticked(name, TickOutcome::Submitted, self.submitted);
        metrics.ticked(name, TickOutcome::Missed, self.missed);
        metrics.ticked(name, TickOutcome::Overlapped, self.overlapped);
    }
}
