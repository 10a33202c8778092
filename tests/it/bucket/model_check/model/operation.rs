use dripfeed_bucket::{Cancel, RefusalReason};
use dripfeed_job::Ending;

use super::super::step::{JobNumber, StepResult, Verdict};
use super::{Job, Model, Place};

impl Model {
    pub(super) fn cancel(&mut self, number: JobNumber) -> Cancel {
        let Some(job) = self.jobs.get(&number) else {
            return self.outcomes.get(&number).map_or(Cancel::Unknown, |(ending, _)| Cancel::Ended(*ending));
        };
        if matches!(job.place, Place::InFlight(_)) {
            return Cancel::InFlight;
        }
        self.end(number, Ending::Cancelled, job.failures);
        Cancel::Cancelled
    }

    pub(super) fn purge(&mut self) -> StepResult {
        let all = [self.waiting(), self.parked()].concat();
        for number in &all {
            self.cancel(*number);
        }
        StepResult::Purged(all.len() as u64)
    }

    pub(super) fn replay(&mut self, number: JobNumber) -> Option<Verdict> {
        let place = self.letters.iter().position(|(dead, _)| *dead == number)?;
        let Job { bytes, caller, readable, .. } = self.letters[place].1;
        let refused = |reason| Some(Verdict::Refused { reason, level: self.level() });
        if !self.has_room_for(bytes) {
            return refused(RefusalReason::BucketFull);
        }
        if self.has_its_share(caller, bytes) {
            return refused(RefusalReason::ShareUsedUp);
        }
        self.letters.remove(place);
        let job = self.numbered;
        self.append(bytes, caller, readable);
        self.accepted += 1;
        Some(Verdict::Admitted { job, level: self.level() })
    }

    pub(super) fn forget(&mut self, number: JobNumber) -> StepResult {
        let before = self.letters.len();
        self.letters.retain(|(dead, _)| *dead != number);
        StepResult::Forgotten(self.letters.len() < before)
    }

    pub(super) fn an_hour_passes(&mut self) {
        self.hold = 0;
        for job in self.jobs.values_mut() {
            if let Place::Parked(due) = &mut job.place {
                due.hours -= 1;
            }
        }
    }
}
