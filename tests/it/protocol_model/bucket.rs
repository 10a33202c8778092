//! The bucket in Redis, reduced to what the protocol rests on. Each script is one step, as Redis runs it, and bears its
//! name.
//!
//! Left out: bytes, deadlines, the pace, throttling, pause, cancel. When a parked job is due is left open: any time.

use super::bug::Bug;

/// A job's place in the order of admission: its id.
pub type JobId = u8;

/// Failed attempts after which a job is buried.
pub const ATTEMPTS: u8 = 2;
/// Times that a job is handed out without an end before it is poison.
const DELIVERIES: u8 = 2;
/// Jobs taken over in one call of recover.
const MOST: usize = 1;

/// One life of a processor in the group: its name is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Consumer {
    pub processor: u8,
    pub life: u8,
}

/// The owner of a pending entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    Parked,
    Replica(Consumer),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    Delivered,
    Dead,
}

/// What a batch of admissions is recognised by: the caller and the number of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token {
    pub caller: u8,
    pub request: u8,
}

/// An entry of the stream, and what lies under its id elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Job {
    pub token: Token,
    pub in_stream: bool,
    /// Not newer than the group's last delivered id.
    pub handed_out: bool,
    pub pending: Option<Owner>,
    pub deliveries: u8,
    pub failures: u8,
    /// As often as one was recorded.
    pub outcomes: Vec<Ending>,
}

/// A consumer of the group, with its fields of the hashes `replicas`, `batches` and `takes`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Enrolled {
    pub consumer: Consumer,
    pub member: bool,
    pub last_batch: u8,
    /// Takes, and questions for strays, up to this number come too late.
    pub given_up: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Admission {
    Admitted(JobId),
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Settlement {
    Complete,
    Retry,
    Requeue,
    Bury,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Recorded,
    Fenced,
    /// Acknowledged, and not deleted yet: only with `Bug::AckAndDeleteApart`.
    HalfWay,
}

/// A script with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Call {
    /// `key`: the caller sent an idempotency key. `again`: an earlier call with this token had no answer.
    Admit {
        token: Token,
        key: bool,
        again: bool,
    },
    /// `pick`: what pending times and the order of admission make the next one.
    Take {
        consumer: Consumer,
        number: u8,
        pick: JobId,
    },
    /// `settling`: a batch that had no answer yet, and its job.
    Strays {
        consumer: Consumer,
        number: u8,
        known: Vec<JobId>,
        settling: Option<(u8, JobId)>,
    },
    Settle {
        consumer: Consumer,
        batch: u8,
        job: JobId,
        settlement: Settlement,
    },
}

#[derive(Clone, Debug)]
pub enum Reply {
    Admission(Admission),
    Taken(Option<JobId>),
    GivenBack,
    Settled(Settled),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bucket {
    pub jobs: Vec<Job>,
    pub group: Vec<Enrolled>,
    /// Idempotency keys; each caller has its own.
    pub once: Vec<(u8, JobId)>,
    pub tokens: Vec<(Token, Admission)>,
}

/// What the scripts are made with.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub capacity: usize,
    pub bug: Option<Bug>,
}

impl Rules {
    pub fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }
}

impl Bucket {
    pub fn run(&mut self, call: &Call, rules: Rules) -> Reply {
        match call {
            Call::Admit { token, key, again } => Reply::Admission(self.admit(*token, *key, *again, rules)),
            Call::Take { consumer, number, pick } => Reply::Taken(self.take(*consumer, *number, *pick, rules)),
            Call::Strays { consumer, number, known, settling } => {
                self.strays(*consumer, *number, known, *settling, rules);
                Reply::GivenBack
            }
            Call::Settle { consumer, batch, job, settlement } => {
                Reply::Settled(self.settle(*consumer, *batch, *job, *settlement, rules))
            }
        }
    }

    pub fn level(&self) -> usize {
        self.jobs.iter().filter(|job| job.in_stream).count()
    }

    pub fn is_member(&self, consumer: Consumer) -> bool {
        self.group.iter().any(|enrolled| enrolled.consumer == consumer && enrolled.member)
    }

    /// What a take may come upon: parked jobs, each of which may be due, and the oldest new one.
    pub fn takeable(&self) -> Vec<JobId> {
        let parked = |id: &JobId| self.job(*id).pending == Some(Owner::Parked);
        let new = self.ids().find(|id| self.job(*id).in_stream && !self.job(*id).handed_out);
        self.ids().filter(parked).chain(new).collect()
    }

    /// What a replica holds.
    pub fn held_by(&self, consumer: Consumer) -> Vec<JobId> {
        self.ids().filter(|id| self.job(*id).pending == Some(Owner::Replica(consumer))).collect()
    }

    pub fn job(&self, id: JobId) -> &Job {
        &self.jobs[usize::from(id)]
    }

    fn job_mut(&mut self, id: JobId) -> &mut Job {
        &mut self.jobs[usize::from(id)]
    }

    fn ids(&self) -> impl Iterator<Item = JobId> {
        (0..).take(self.jobs.len())
    }

    fn member(&mut self, consumer: Consumer) -> Option<&mut Enrolled> {
        self.group.iter_mut().find(|enrolled| enrolled.consumer == consumer && enrolled.member)
    }

    fn admit(&mut self, token: Token, key: bool, again: bool, rules: Rules) -> Admission {
        let asks = (again || !rules.has(Bug::TokenOnlyWhenRepeated)) && !rules.has(Bug::NoToken);
        if asks && let Some((_, answer)) = self.tokens.iter().find(|(known, _)| *known == token) {
            return *answer;
        }
        let seen = self.once.iter().find(|(caller, _)| key && *caller == token.caller).map(|(_, id)| *id);
        let full = self.level() >= rules.capacity && !rules.has(Bug::RoomBeforeAppend);
        let answer = match seen {
            Some(id) => Admission::Admitted(id),
            None if full => Admission::Full,
            None => Admission::Admitted(self.append(token, key)),
        };
        if answer != Admission::Full || again && !rules.has(Bug::RefusalWithoutToken) {
            self.tokens.push((token, answer));
            self.tokens.sort_unstable_by_key(|(token, _)| *token);
        }
        answer
    }

    fn append(&mut self, token: Token, key: bool) -> JobId {
        let id = JobId::try_from(self.jobs.len()).expect("few jobs");
        let (in_stream, handed_out, pending) = (true, false, None);
        self.jobs.push(Job { token, in_stream, handed_out, pending, deliveries: 0, failures: 0, outcomes: Vec::new() });
        if key {
            self.once.push((token.caller, id));
            self.once.sort_unstable();
        }
        id
    }

    fn take(&mut self, consumer: Consumer, number: u8, pick: JobId, rules: Rules) -> Option<JobId> {
        let given_up = self.member(consumer)?.given_up;
        if number <= given_up && !rules.has(Bug::LateTakeServed) {
            return None;
        }
        let job = self.job_mut(pick);
        job.handed_out = true;
        job.deliveries += 1;
        job.pending = Some(Owner::Replica(consumer));
        Some(pick)
    }

    fn strays(&mut self, consumer: Consumer, number: u8, known: &[JobId], settling: Option<(u8, JobId)>, rules: Rules) {
        let Some(member) = self.member(consumer) else { return };
        if number <= member.given_up && !rules.has(Bug::StraysUnnumbered) {
            return;
        }
        member.given_up = number;
        let last_batch = member.last_batch;
        // What a settled batch has parked, and this consumer holds again, is a stray.
        let unsettled = settling.filter(|(batch, _)| *batch > last_batch || rules.has(Bug::SettlingIsKnown));
        for id in self.held_by(consumer) {
            let is_known = known.contains(&id) || unsettled.is_some_and(|(_, job)| job == id);
            if !is_known || rules.has(Bug::ClaimsGivenBack) {
                self.park(id, self.job(id).deliveries.saturating_sub(1));
            }
        }
    }

    fn settle(&mut self, consumer: Consumer, batch: u8, id: JobId, settlement: Settlement, rules: Rules) -> Settled {
        match self.member(consumer) {
            Some(member) if batch == member.last_batch => return Settled::Recorded,
            Some(member) if batch < member.last_batch && !rules.has(Bug::OnlyTheLastBatch) => return Settled::Recorded,
            Some(member) => member.last_batch = batch,
            None if rules.has(Bug::OwnerCheckDropped) => {}
            None => return Settled::Fenced,
        }
        match settlement {
            Settlement::Complete if rules.has(Bug::AckAndDeleteApart) => return self.ack_then_delete(id),
            Settlement::Complete => self.end(id, Ending::Delivered),
            Settlement::Bury => self.end(id, Ending::Dead),
            Settlement::Requeue => drop(self.park(id, 0)),
            Settlement::Retry => {
                if self.park(id, 0) {
                    self.job_mut(id).failures += 1;
                }
            }
        }
        Settled::Recorded
    }

    fn ack_then_delete(&mut self, id: JobId) -> Settled {
        let job = self.job_mut(id);
        if job.pending.take().is_some() {
            job.outcomes.push(Ending::Delivered);
            return Settled::HalfWay;
        }
        job.in_stream = false;
        Settled::Recorded
    }

    /// Takes over what a dead replica holds. Its heartbeats are not modelled: recover.lua does nothing when they have
    /// moved since the observer's look, so who is taken for dead here has stood still all the while.
    pub fn recover(&mut self, consumer: Consumer, rules: Rules) {
        let Some(place) = self.group.iter().position(|enrolled| enrolled.consumer == consumer) else { return };
        if !rules.has(Bug::DeadStaysMember) {
            self.group[place] = Enrolled { consumer, member: false, last_batch: 0, given_up: 0 };
        }
        let held = self.held_by(consumer);
        for id in held.iter().take(MOST) {
            let deliveries = self.job(*id).deliveries;
            if deliveries >= DELIVERIES {
                self.end(*id, Ending::Dead);
            } else {
                self.park(*id, deliveries);
            }
        }
        if held.len() < MOST {
            self.group.remove(place);
        }
    }

    pub fn join(&mut self, consumer: Consumer) {
        self.group.push(Enrolled { consumer, member: true, last_batch: 0, given_up: 0 });
        self.group.sort_unstable_by_key(|enrolled| enrolled.consumer);
    }

    /// Out of the bucket, and its outcome on record: XACK, XDEL and HSET ask for no owner.
    fn end(&mut self, id: JobId, ending: Ending) {
        let job = self.job_mut(id);
        (job.in_stream, job.pending, job.deliveries, job.failures) = (false, None, 0, 0);
        job.outcomes.push(ending);
    }

    /// XCLAIM finds pending entries alone, whosesoever they are.
    fn park(&mut self, id: JobId, deliveries: u8) -> bool {
        let job = self.job_mut(id);
        let is_there = job.pending.is_some();
        if is_there {
            (job.pending, job.deliveries) = (Some(Owner::Parked), deliveries);
        }
        is_there
    }
}
