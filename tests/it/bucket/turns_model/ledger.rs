//! The jobs in the model, from what was submitted, taken and settled.

use std::collections::{BTreeMap, BTreeSet};

use dripfeed_job::JobId;

use super::rules::Rules;

/// A caller or a group, which takes turns and has bounds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    pub is_group: bool,
    pub name: String,
}

/// The waiting jobs of one owner at one priority.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// 0 is the highest.
    pub rank: u8,
    pub owner: Owner,
}

impl Flow {
    pub fn new(caller: &str, group: Option<&str>, priority: Option<&str>) -> Self {
        let rank = match priority {
            Some("high") => 0,
            Some("low") => 2,
            _ => 1,
        };
        Self { rank, owner: Owner { is_group: group.is_some(), name: group.unwrap_or(caller).to_owned() } }
    }
}

#[derive(Clone, Debug)]
pub struct Known {
    pub flow: Flow,
    pub caller: &'static str,
    pub place: Place,
    /// How often the job was taken.
    pub calls: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Waiting,
    /// Parked. The job waits when it is due and a take has reached it.
    Soon,
    InFlight,
    /// In flight at this replica, which doesn't know it any more.
    Forgotten(usize),
}

impl Place {
    pub fn is_unclaimed(self) -> bool {
        matches!(self, Self::Waiting | Self::Soon)
    }
}

#[derive(Default)]
pub struct Ledger {
    pub jobs: BTreeMap<JobId, Known>,
    /// How many jobs were ever in the bucket, and how many were deleted by hand.
    pub added: u64,
    pub deleted: u64,
}

impl Ledger {
    pub fn add(&mut self, id: JobId, caller: &'static str, flow: Flow, place: Place) {
        self.added += 1;
        let before = self.jobs.insert(id, Known { flow, caller, place, calls: 0 });
        assert!(before.is_none(), "{id} twice");
    }

    pub fn in_flight(&self, owner: &Owner) -> usize {
        self.jobs.values().filter(|job| job.flow.owner == *owner && job.place == Place::InFlight).count()
    }

    /// The flows that surely wait and may be called. Flows with a rate are left out, because it may be used up.
    pub fn surely_wait(&self, rules: &Rules) -> BTreeSet<Flow> {
        let mut waiting: BTreeSet<_> =
            self.jobs.values().filter(|job| job.place == Place::Waiting).map(|job| job.flow.clone()).collect();
        waiting.retain(|flow| self.may_surely_be_called(&flow.owner, rules));
        waiting
    }

    fn may_surely_be_called(&self, owner: &Owner, rules: &Rules) -> bool {
        let is_forgotten = |job: &Known| job.flow.owner == *owner && matches!(job.place, Place::Forgotten(_));
        let Some(bounds) = rules.bounds(&owner.name) else { return true };
        !rules.is_paused(&owner.name)
            && !bounds.has_rate()
            && bounds.most.is_none_or(|most| self.in_flight(owner) < most)
            && !self.jobs.values().any(is_forgotten)
    }
}
