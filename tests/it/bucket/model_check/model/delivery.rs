use dripfeed_bucket::JoinKind;
use dripfeed_job::Ending;

use super::super::step::{End, Handed, JobNumber, ReplicaNumber, StepResult};
use super::{Due, Model, Place};

impl Model {
    pub(super) fn join(&mut self, life: JoinKind) -> StepResult {
        let first = life == JoinKind::First && self.members.is_empty();
        if first && self.burst.is_some() {
            self.spent = self.spent.or(Some(0));
        }
        self.members.insert(self.joined);
        self.joined += 1;
        StepResult::Done
    }

    /// Returns `None` if there is no rate.
    pub(super) fn tokens(&self) -> Option<u64> {
        let burst = self.burst?;
        // A missing state was lost, and grants nothing.
        Some(burst.saturating_sub(self.spent.unwrap_or(burst)))
    }

    pub(super) fn take(&mut self, replica: ReplicaNumber, most: usize) -> StepResult {
        if !self.members.contains(&replica) {
            return StepResult::Fenced;
        }
        self.spent = self.burst.map(|burst| self.spent.unwrap_or(burst).min(burst));
        if self.paused || self.hold > 0 {
            return StepResult::Idle;
        }
        let room = self.max_in_flight.map_or(u64::MAX, |max| max.saturating_sub(self.in_flight().len() as u64));
        let allowed = room.min(self.tokens().unwrap_or(u64::MAX));
        let most = most.min(usize::try_from(allowed).unwrap_or(usize::MAX));
        if most == 0 {
            return StepResult::Idle;
        }
        let mut handed = Vec::new();
        for job in self.due() {
            if handed.len() == most {
                break;
            }
            handed.extend(self.hand_out(job, replica));
        }
        for job in self.waiting() {
            if handed.len() == most {
                break;
            }
            match self.jobs[&job].delayed {
                Some(since) => self.park(job, Due { hours: 1, since }),
                None => handed.extend(self.hand_out(job, replica)),
            }
        }
        self.spent = self.spent.map(|spent| spent + handed.len() as u64);
        if handed.is_empty() { StepResult::Idle } else { StepResult::ClaimedJob(handed) }
    }

    /// The parked jobs that are due, ordered by due time.
    fn due(&self) -> Vec<JobNumber> {
        let mut due: Vec<_> = self
            .jobs
            .iter()
            .filter_map(|(number, job)| match job.place {
                Place::Parked(due) if due.hours <= 0 => Some((due, *number)),
                _ => None,
            })
            .collect();
        due.sort_unstable();
        due.into_iter().map(|(_, number)| number).collect()
    }

    /// Returns `None` if the job has expired.
    fn hand_out(&mut self, number: JobNumber, replica: ReplicaNumber) -> Option<Handed> {
        let job = self.jobs.get_mut(&number)?;
        if job.ephemeral && job.failures == 0 {
            self.end(number, Ending::Expired, 0);
            return None;
        }
        job.place = Place::InFlight(replica);
        job.deliveries += 1;
        self.claims.entry(replica).or_default().insert(number, job.failures);
        Some(Handed { job: number, failures: job.failures, readable: job.readable })
    }

    fn park(&mut self, number: JobNumber, due: Due) {
        if let Some(job) = self.jobs.get_mut(&number) {
            job.place = Place::Parked(due);
            job.deliveries = 0;
        }
    }

    pub(super) fn settle(&mut self, replica: ReplicaNumber, ends: &[(JobNumber, End)]) -> StepResult {
        let claims = self.claims.entry(replica).or_default();
        let failures: Vec<_> = ends.iter().filter_map(|(number, _)| claims.remove(number)).collect();
        if !self.members.contains(&replica) {
            return StepResult::Fenced;
        }
        for ((number, end), failures) in ends.iter().zip(failures) {
            self.end_attempt(*number, *end, failures);
        }
        StepResult::Settled
    }

    fn end_attempt(&mut self, number: JobNumber, end: End, failures: u32) {
        let at_once = Due { hours: 0, since: self.now };
        let in_an_hour = Due { hours: 1, since: self.now };
        match end {
            End::Complete => self.end(number, Ending::Delivered, failures + 1),
            End::Bury { called } => self.bury(number, failures + u32::from(called)),
            End::RetryAtOnce | End::RetryInAnHour => {
                self.jobs.entry(number).and_modify(|job| job.failures += 1);
                self.park(number, if end == End::RetryAtOnce { at_once } else { in_an_hour });
            }
            End::Requeue | End::ThrottledForNothing => self.park(number, at_once),
            End::ThrottledForAnHour => {
                self.hold = 1;
                self.park(number, in_an_hour);
            }
        }
    }

    pub(super) fn end(&mut self, number: JobNumber, ending: Ending, attempts: u32) {
        self.jobs.remove(&number);
        let before = self.outcomes.insert(number, (ending, attempts));
        assert_eq!(before, None, "job {number} ends twice");
        let place = Ending::ALL.iter().position(|known| *known == ending).expect("one of all");
        self.ended[place] += 1;
    }

    fn bury(&mut self, number: JobNumber, attempts: u32) {
        while self.letters.len() >= self.setup.most_dead {
            self.letters.remove(0);
        }
        self.letters.push((number, self.jobs[&number].clone()));
        self.end(number, Ending::Dead, attempts);
    }

    pub(super) fn end_membership(&mut self, replica: ReplicaNumber, died: bool) -> StepResult {
        let was_member = self.members.remove(&replica);
        let (mut recovered, mut poisoned) = (0, 0);
        for number in self.held_by(replica) {
            let job = &self.jobs[&number];
            let (failures, deliveries) = (job.failures, job.deliveries);
            if died && deliveries >= self.setup.deliveries {
                self.bury(number, failures + deliveries);
                poisoned += 1;
                continue;
            }
            self.park(number, Due { hours: 0, since: self.now });
            // A replica that leaves in order hasn't failed the job.
            self.jobs.entry(number).and_modify(|job| job.deliveries = deliveries - u32::from(!died));
            recovered += 1;
        }
        assert!(was_member || (recovered, poisoned) == (0, 0), "who is no member holds nothing");
        if !died {
            return StepResult::Done;
        }
        self.recovered += recovered;
        StepResult::Recovered { recovered, poisoned }
    }
}
