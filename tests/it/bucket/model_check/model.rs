//! The bucket in plain Rust: what the design says, without Redis.

use std::collections::{BTreeMap, BTreeSet};

use dripfeed_bucket::{Cancel, Life, Reason};
use dripfeed_job::{Ending, State};

use super::picture::{Picture, Seen, consumer};
use super::step::{Answer, End, Entry, Handed, JobNumber, Offer, ReplicaNumber, Step, Verdict};

/// What a bucket is made with, different in each history.
#[derive(Clone, Debug)]
pub struct Setup {
    pub capacity: u64,
    pub capacity_bytes: u64,
    /// For one caller, in percent. None: all of the room.
    pub max_share: Option<u64>,
    /// The calls that may be made before anything is paid back, which takes a year for each. None: no rate.
    pub burst: Option<u64>,
    pub deliveries: u32,
    pub most_dead: usize,
}

#[derive(Clone, Debug)]
pub struct Model {
    pub setup: Setup,
    /// What the last step answered.
    pub answer: Answer,
    now: usize,
    capacity: u64,
    capacity_bytes: u64,
    max_share: Option<u64>,
    burst: Option<u64>,
    max_in_flight: Option<u64>,
    pub paused: bool,
    /// Hours until an upstream's wish to wait is over.
    hold: u32,
    /// Calls that the pace counts as made. None: its state doesn't exist.
    spent: Option<u64>,
    /// Jobs that ever were in the stream.
    pub numbered: usize,
    pub jobs: BTreeMap<JobNumber, Job>,
    /// Each caller has a namespace.
    once: BTreeMap<(Option<char>, u8), (JobNumber, char, usize)>,
    pub joined: usize,
    members: BTreeSet<ReplicaNumber>,
    /// What processes believe to hold, also those that were declared dead: job and failures when it was taken.
    pub claims: BTreeMap<ReplicaNumber, BTreeMap<JobNumber, u32>>,
    outcomes: BTreeMap<JobNumber, (Ending, u32)>,
    pub letters: Vec<(JobNumber, Job)>,
    accepted: u64,
    recovered: u64,
    refused: [u64; Reason::ALL.len()],
    ended: [u64; 4],
}

/// A job in the stream.
#[derive(Clone, Debug)]
pub struct Job {
    bytes: u64,
    caller: Option<char>,
    readable: bool,
    /// When it was admitted, if it is not to be called before an hour has passed since.
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

/// Hours from now, then the step it counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    hours: i32,
    since: usize,
}

impl Model {
    pub fn new(setup: Setup) -> Self {
        Self {
            answer: Answer::Done,
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
            refused: [0; Reason::ALL.len()],
            ended: [0; 4],
            setup,
        }
    }

    pub fn step(&mut self, step: &Step) {
        self.now += 1;
        self.answer = match step {
            Step::Admit(offers) => Answer::Admissions(offers.iter().map(|offer| self.admit(offer)).collect()),
            Step::AddByHand(entry) => self.add_by_hand(*entry),
            Step::Join(life) => self.join(*life),
            Step::Take { replica, most } => self.take(*replica, *most),
            Step::Settle { replica, ends } => self.settle(*replica, ends),
            Step::Beat(replica) if self.members.contains(replica) => Answer::Alive,
            Step::Beat(_) => Answer::Fenced,
            Step::Leave(replica) => self.end_membership(*replica, false),
            Step::Die(replica) => self.end_membership(*replica, true),
            Step::Cancel(job) => Answer::Cancel(self.cancel(*job)),
            Step::Purge => self.purge(),
            Step::Replay(job) => Answer::Replay(self.replay(*job)),
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

    fn set(&mut self, change: impl FnOnce(&mut Self)) -> Answer {
        change(self);
        Answer::Done
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

    fn append(&mut self, bytes: u64, caller: Option<char>, readable: bool) -> &mut Job {
        let number = self.numbered;
        self.numbered += 1;
        self.jobs.entry(number).or_insert(Job {
            bytes,
            caller,
            readable,
            delayed: None,
            ephemeral: false,
            place: Place::Waiting,
            failures: 0,
            deliveries: 0,
        })
    }

    fn refuse(&mut self, reason: Reason) -> Verdict {
        let place = Reason::ALL.iter().position(|known| *known == reason).expect("one of all");
        self.refused[place] += 1;
        Verdict::Refused { reason, level: self.level() }
    }

    fn admit(&mut self, offer: &Offer) -> Verdict {
        let key = offer.key.map(|key| (offer.caller, key));
        if let Some((job, letter, length)) = key.and_then(|key| self.once.get(&key)).copied() {
            if (letter, length) != (offer.letter, offer.length) {
                return self.refuse(Reason::IdempotencyConflict);
            }
            return Verdict::Repeated { job, level: self.level() };
        }
        // The body, its caller, its checksum, and the mark of our own layout.
        let bytes = offer.length as u64 + u64::from(offer.caller.is_some()) + 16 + 1;
        if bytes > self.capacity_bytes {
            return self.refuse(Reason::NeverFits);
        }
        if self.has_its_share(offer.caller) {
            return self.refuse(Reason::ShareTaken);
        }
        if !self.has_room_for(bytes) {
            return self.refuse(Reason::BucketFull);
        }
        if offer.ephemeral && (offer.delayed || self.hold > 0 || self.tokens() == Some(0)) {
            return self.refuse(Reason::DeadlineUnreachable);
        }
        let (job, now) = (self.numbered, self.now);
        let added = self.append(bytes, offer.caller, true);
        added.delayed = offer.delayed.then_some(now);
        added.ephemeral = offer.ephemeral;
        self.accepted += 1;
        if let Some(key) = key {
            self.once.insert(key, (job, offer.letter, offer.length));
        }
        Verdict::Admitted { job, level: self.level() }
    }

    fn has_room_for(&self, bytes: u64) -> bool {
        self.level() < self.capacity && self.bytes() + bytes <= self.capacity_bytes
    }

    /// By number of jobs, none of which is nobody's.
    fn callers(&self) -> BTreeMap<char, u64> {
        let mut callers = BTreeMap::new();
        for caller in self.jobs.values().filter_map(|job| job.caller) {
            *callers.entry(caller).or_default() += 1;
        }
        callers
    }

    fn has_its_share(&self, caller: Option<char>) -> bool {
        let Some((caller, share)) = caller.zip(self.max_share) else { return false };
        let most = (self.capacity * share / 100).max(1);
        self.callers().get(&caller).is_some_and(|held| *held >= most)
    }

    fn add_by_hand(&mut self, entry: Entry) -> Answer {
        self.append(0, None, entry != Entry::Unreadable);
        Answer::Done
    }

    fn join(&mut self, life: Life) -> Answer {
        let first = life == Life::First && self.members.is_empty();
        if first && self.burst.is_some() {
            self.spent = self.spent.or(Some(0));
        }
        self.members.insert(self.joined);
        self.joined += 1;
        Answer::Done
    }

    /// None: no rate.
    fn tokens(&self) -> Option<u64> {
        let burst = self.burst?;
        // A state that is missing was lost, and grants nothing.
        Some(burst.saturating_sub(self.spent.unwrap_or(burst)))
    }

    fn take(&mut self, replica: ReplicaNumber, most: usize) -> Answer {
        if !self.members.contains(&replica) {
            return Answer::Fenced;
        }
        self.spent = self.burst.map(|burst| self.spent.unwrap_or(burst).min(burst));
        if self.paused || self.hold > 0 {
            return Answer::Idle;
        }
        let room = self.max_in_flight.map_or(u64::MAX, |max| max.saturating_sub(self.in_flight().len() as u64));
        let allowed = room.min(self.tokens().unwrap_or(u64::MAX));
        let most = most.min(usize::try_from(allowed).unwrap_or(usize::MAX));
        if most == 0 {
            return Answer::Idle;
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
        if handed.is_empty() { Answer::Idle } else { Answer::Taken(handed) }
    }

    /// Parked jobs whose time has come, in its order.
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

    /// None: it expired on the way.
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

    fn settle(&mut self, replica: ReplicaNumber, ends: &[(JobNumber, End)]) -> Answer {
        let claims = self.claims.entry(replica).or_default();
        let failures: Vec<_> = ends.iter().filter_map(|(number, _)| claims.remove(number)).collect();
        if !self.members.contains(&replica) {
            return Answer::Fenced;
        }
        for ((number, end), failures) in ends.iter().zip(failures) {
            self.end_attempt(*number, *end, failures);
        }
        Answer::Settled
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
            End::GiveBack | End::HoldForNothing => self.park(number, at_once),
            End::HoldForAnHour => {
                self.hold = 1;
                self.park(number, in_an_hour);
            }
        }
    }

    fn end(&mut self, number: JobNumber, ending: Ending, attempts: u32) {
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

    fn end_membership(&mut self, replica: ReplicaNumber, died: bool) -> Answer {
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
            // Who leaves in order has not failed the job.
            self.jobs.entry(number).and_modify(|job| job.deliveries = deliveries - u32::from(!died));
            recovered += 1;
        }
        assert!(was_member || (recovered, poisoned) == (0, 0), "who is no member holds nothing");
        if !died {
            return Answer::Done;
        }
        self.recovered += recovered;
        Answer::Recovered { recovered, poisoned }
    }

    fn cancel(&mut self, number: JobNumber) -> Cancel {
        let Some(job) = self.jobs.get(&number) else {
            return self.outcomes.get(&number).map_or(Cancel::Unknown, |(ending, _)| Cancel::Ended(*ending));
        };
        if matches!(job.place, Place::InFlight(_)) {
            return Cancel::InFlight;
        }
        self.end(number, Ending::Cancelled, job.failures);
        Cancel::Cancelled
    }

    fn purge(&mut self) -> Answer {
        let all = [self.waiting(), self.parked()].concat();
        for number in &all {
            self.cancel(*number);
        }
        Answer::Purged(all.len() as u64)
    }

    fn replay(&mut self, number: JobNumber) -> Option<Verdict> {
        let place = self.letters.iter().position(|(dead, _)| *dead == number)?;
        let Job { bytes, caller, readable, .. } = self.letters[place].1;
        let refused = |reason| Some(Verdict::Refused { reason, level: self.level() });
        if !self.has_room_for(bytes) {
            return refused(Reason::BucketFull);
        }
        if self.has_its_share(caller) {
            return refused(Reason::ShareTaken);
        }
        self.letters.remove(place);
        let job = self.numbered;
        self.append(bytes, caller, readable);
        self.accepted += 1;
        Some(Verdict::Admitted { job, level: self.level() })
    }

    fn forget(&mut self, number: JobNumber) -> Answer {
        let before = self.letters.len();
        self.letters.retain(|(dead, _)| *dead != number);
        Answer::Forgotten(self.letters.len() < before)
    }

    fn an_hour_passes(&mut self) {
        self.hold = 0;
        for job in self.jobs.values_mut() {
            if let Place::Parked(due) = &mut job.place {
                due.hours -= 1;
            }
        }
    }

    pub fn picture(&self) -> Picture {
        Picture {
            level: self.level(),
            capacity: self.capacity,
            max_share: self.max_share,
            holders: self.callers().into_iter().map(|(caller, jobs)| (caller.to_string(), jobs)).collect(),
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
            Place::Waiting => (State::Waiting, None),
            Place::Parked(_) => (State::Parked, None),
            Place::InFlight(replica) => (State::InFlight, Some(consumer(replica))),
        };
        Seen { state, attempts: self.failures + u32::from(holder.is_some()), consumer: holder }
    }
}
