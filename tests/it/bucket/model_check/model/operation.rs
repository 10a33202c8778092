use dripfeed_bucket::{CancelResult, RefusalReason};
use dripfeed_job::{Ending, JobState};

use super::super::step::{JobNumber, StepResult, Verdict};
use super::{Job, Model, Place};

impl Model {
    pub(super) fn cancel(&mut self, number: JobNumber) -> CancelResult {
        let Some(job) = self.jobs.get(&number) else {
            return self
                .outcomes
                .get(&number)
                .map_or(CancelResult::Unknown, |(ending, _)| CancelResult::Ended(*ending));
        };
        if matches!(job.place, Place::InFlight(_)) {
            return CancelResult::InFlight;
        }
        self.end(number, Ending::Cancelled, job.failures);
        CancelResult::Cancelled
    }

    pub(super) fn purge(&mut self) -> StepResult {
        self.cancel_many(None, None)
    }

    pub(super) fn cancel_many(&mut self, state: Option<JobState>, caller: Option<char>) -> StepResult {
        let mut wanted = [(JobState::Waiting, self.waiting()), (JobState::Parked, self.parked())].to_vec();
        wanted.retain(|(of, _)| state.is_none_or(|state| state == *of));
        let mut numbers = wanted.into_iter().flat_map(|(_, numbers)| numbers).collect::<Vec<_>>();
        numbers.retain(|number| caller.is_none_or(|caller| self.jobs[number].caller == Some(caller)));
        for number in &numbers {
            self.cancel(*number);
        }
        StepResult::Purged(numbers.len() as u64)
    }

    /// Ends overdue jobs that were never called. No other job in the model has a deadline that passes.
    pub(super) fn end_overdue(&mut self) {
        let is_overdue = |job: &Job| job.ephemeral && job.failures == 0 && !matches!(job.place, Place::InFlight(_));
        let overdue: Vec<_> = self.jobs.iter().filter(|(_, job)| is_overdue(job)).map(|(number, _)| *number).collect();
        for number in overdue {
            self.end(number, Ending::Expired, 0);
        }
    }

    pub(super) fn replay(&mut self, number: JobNumber) -> Option<Verdict> {
        let place = self.letters.iter().position(|(dead, _)| *dead == number)?;
        let Job { bytes, caller, readable, .. } = self.letters[place].1;
        let refused = |reason| Some(Verdict::Refused { reason, level: self.level() });
        if bytes > self.capacity_bytes {
            return refused(RefusalReason::NeverFits);
        }
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
