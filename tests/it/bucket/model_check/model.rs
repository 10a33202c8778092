//! The model: the bucket as designed, in plain Rust without Redis.

/// Admissions: room, shares, and entries that somebody added by hand.
mod admission;
/// Replicas: which jobs they take, how they settle them, and what happens to these when the replicas leave or die.
mod delivery;
/// Operators' commands, and time.
mod operation;

use std::collections::{BTreeMap, BTreeSet};

use dripfeed_bucket::RefusalReason;
use dripfeed_job::{Ending, JobState};

use super::picture::{Picture, Seen, consumer};
use super::step::{JobNumber, ReplicaNumber, Step, StepResult};

/// The settings of a bucket, different in each history.
#[derive(Clone, Debug)]
pub struct Setup {
    pub capacity: u64,
    pub capacity_bytes: u64,
    /// The share of one caller, in percent. `None`: all of the room.
    pub max_share: Option<u64>,
    /// How many calls may be made. Each token is refilled only after a year. `None`: no rate.
    pub burst: Option<u64>,
    pub deliveries: u32,
    pub most_dead: usize,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub setup: Setup,
    /// The result of the last step.
    pub answer: StepResult,
    now: usize,
    capacity: u64,
    capacity_bytes: u64,
    max_share: Option<u64>,
    burst: Option<u64>,
    max_in_flight: Option<u64>,
    pub paused: bool,
    /// For how many hours an upstream still throttles the bucket.
    hold: u32,
    /// Calls that the pace counts as made. `None`: the pace has no state.
    spent: Option<u64>,
    /// How many jobs were ever in the stream.
    pub numbered: usize,
    pub jobs: BTreeMap<JobNumber, Job>,
    /// Idempotency keys. Each caller has a namespace.
    once: BTreeMap<(Option<char>, u8), (JobNumber, char, usize)>,
    pub joined: usize,
    members: BTreeSet<ReplicaNumber>,
    /// The jobs that processes, also dead ones, believe they have claimed, with the failures of each when it was taken.
    pub claims: BTreeMap<ReplicaNumber, BTreeMap<JobNumber, u32>>,
    outcomes: BTreeMap<JobNumber, (Ending, u32)>,
    pub letters: Vec<(JobNumber, Job)>,
    accepted: u64,
    recovered: u64,
    refused: [u64; RefusalReason::ALL.len()],
    ended: [u64; 4],
}

/// A job in the stream.
#[derive(Clone, Debug)]
pub struct Job {
    bytes: u64,
    caller: Option<char>,
    readable: bool,
    /// When the job was admitted, if it must not be called within an hour after that.
    delayed: Option<usize>,
    ephemeral: bool,
    place: Place,
    failures: u32,
    deliveries: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Waiting,
    InFlight(ReplicaNumber),
    Parked(Due),
}

/// A due time: hours from now, then the step from which it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    hours: i32,
    since: usize,
}

impl Model {
    pub fn new(setup: Setup) -> Self {
        Self {
            answer: StepResult::Done,
            now: 0,
            capacity: setup.capacity,
            capacity_bytes: setup.capacity_bytes,
            max_share: setup.max_share,
            burst: setup.burst,
            max_in_flight: None,
            paused: false,
            hold: 0,
            spent: None,
            numbered: 0,
            jobs: BTreeMap::new(),
            once: BTreeMap::new(),
            joined: 0,
            members: BTreeSet::new(),
            claims: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            letters: Vec::new(),
            accepted: 0,
            recovered: 0,
            refused: [0; RefusalReason::ALL.len()],
            ended: [0; 4],
            setup,
        }
    }

    pub fn step(&mut self, step: &Step) {
        self.now += 1;
        self.answer = match step {
            Step::Admit(offers) => StepResult::Admissions(offers.iter().map(|offer| self.admit(offer)).collect()),
            Step::AddByHand(entry) => self.add_by_hand(*entry),
            Step::Join(life) => self.join(*life),
            Step::Take { replica, most } => self.take(*replica, *most),
            Step::Settle { replica, ends } => self.settle(*replica, ends),
            Step::Beat(replica) if self.members.contains(replica) => StepResult::Alive,
            Step::Beat(_) => StepResult::Fenced,
            Step::Leave(replica) => self.end_membership(*replica, false),
            Step::Die(replica) => self.end_membership(*replica, true),
            Step::Cancel(job) => StepResult::Cancel(self.cancel(*job)),
            Step::CancelMany { state, caller } => self.cancel_many(*state, *caller),
            Step::Purge => self.purge(),
            Step::EndOverdue => self.set(Self::end_overdue),
            Step::Replay(job) => StepResult::Replay(self.replay(*job)),
            Step::Forget(job) => self.forget(*job),
            Step::Pause => self.set(|model| model.paused = true),
            Step::Resume => self.set(|model| model.paused = false),
            Step::SetCapacity(capacity) => self.set(|model| model.capacity = capacity.unwrap_or(model.setup.capacity)),
            Step::SetCapacityBytes(bytes) => {
                self.set(|model| model.capacity_bytes = bytes.unwrap_or(model.setup.capacity_bytes))
            }
            Step::SetMaxShare(share) => self.set(|model| model.max_share = share.or(model.setup.max_share)),
            Step::SetMaxInFlight(most) => self.set(|model| model.max_in_flight = *most),
            Step::SetBurst(burst) => self.set(|model| model.burst = model.burst.and(burst.or(model.setup.burst))),
            Step::AnHourPasses => self.set(Self::an_hour_passes),
        };
    }

    fn set(&mut self, change: impl FnOnce(&mut Self)) -> StepResult {
        change(self);
        StepResult::Done
    }

    pub fn level(&self) -> u64 {
        self.jobs.len() as u64
    }

    fn bytes(&self) -> u64 {
        self.jobs.values().map(|job| job.bytes).sum()
    }

    fn of_place(&self, is: impl Fn(Place) -> bool) -> Vec<JobNumber> {
        self.jobs.iter().filter(|(_, job)| is(job.place)).map(|(number, _)| *number).collect()
    }

    pub fn waiting(&self) -> Vec<JobNumber> {
        self.of_place(|place| place == Place::Waiting)
    }

    fn in_flight(&self) -> Vec<JobNumber> {
        self.of_place(|place| matches!(place, Place::InFlight(_)))
    }

    fn held_by(&self, replica: ReplicaNumber) -> Vec<JobNumber> {
        self.of_place(|place| place == Place::InFlight(replica))
    }

    /// Replicas that have jobs in flight.
    pub fn holders(&self) -> Vec<ReplicaNumber> {
        self.members.iter().copied().filter(|member| !self.held_by(*member).is_empty()).collect()
    }

    fn parked(&self) -> Vec<JobNumber> {
        self.of_place(|place| matches!(place, Place::Parked(_)))
    }

    pub fn picture(&self) -> Picture {
        Picture {
            level: self.level(),
            capacity: self.capacity,
            max_share: self.max_share,
            holders: self
                .callers()
                .into_iter()
                .flat_map(|(caller, (jobs, bytes))| [(caller.to_string(), jobs), (format!("{caller} bytes"), bytes)])
                .collect(),
            bytes: self.bytes(),
            waiting: self.waiting().len() as u64,
            in_flight: self.in_flight().len() as u64,
            parked: self.parked().len() as u64,
            dead: self.letters.len() as u64,
            paused: self.paused,
            accepted: self.accepted,
            recovered: self.recovered,
            refused: self.refused.to_vec(),
            ended: self.ended.to_vec(),
            replicas: self
                .members
                .iter()
                .map(|member| (consumer(*member), self.held_by(*member).len() as u64))
                .collect(),
            jobs: self.jobs.iter().map(|(number, job)| (*number, job.seen())).collect(),
            outcomes: self.outcomes.iter().map(|(number, (ending, attempts))| (*number, *ending, *attempts)).collect(),
            letters: self.letters.iter().map(|(number, _)| *number).collect(),
        }
    }
}

impl Job {
    fn seen(&self) -> Seen {
        let (state, holder) = match self.place {
            Place::Waiting => (JobState::Waiting, None),
            Place::Parked(_) => (JobState::Parked, None),
            Place::InFlight(replica) => (JobState::InFlight, Some(consumer(replica))),
        };
        Seen { state, attempts: self.failures + u32::from(holder.is_some()), consumer: holder }
    }
}
