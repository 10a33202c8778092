//! All there is: the bucket, who talks to it, what is on the way, and what the upstream saw.

use super::bucket::{Bucket, Call, Consumer, Ending, JobId, Reply, Rules};
use super::processing::Processor;
use super::submitting::{Caller, Request};

/// Two of each: with more, nothing new can happen between two of them.
pub const INTAKES: u8 = 2;
pub const PROCESSORS: u8 = 2;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub bucket: Bucket,
    pub callers: Vec<Caller>,
    /// In the hands of an intake.
    pub requests: Vec<Request>,
    pub processors: Vec<Processor>,
    /// Given up by those who sent them, and still able to reach Redis: the remains of a connection that was replaced.
    pub late: Vec<Call>,
    /// By job.
    pub upstream: Vec<Upstream>,
    /// How many things may still go wrong.
    pub faults: u8,
    pub seen: Seen,
}

/// What the upstream knows of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Upstream {
    /// Whose calls are not settled, though no death explains it.
    pub open: Vec<Consumer>,
    /// It has answered that the job is done.
    pub done: bool,
}

/// What must never be seen. It shows in a step, not in a state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seen {
    pub fenced_replica_changed_something: bool,
    pub unexplained_duplicate: bool,
    pub call_after_success: bool,
}

/// What becomes of a call to Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Answered,
    /// The script ran; who called doesn't know.
    ReplyLost,
    /// The connection is given up with the call on its way: it may still arrive, at any time.
    Late,
    /// The script ran, and the process died before it heard.
    CallerDies,
    /// Redis refuses to run it, as at maxmemory.
    Refused,
}

impl Fate {
    pub const fn is_fault(self) -> bool {
        !matches!(self, Self::Answered)
    }
}

impl World {
    pub fn new(callers: u8, faults: u8) -> Self {
        let mut bucket = Bucket::default();
        let processors: Vec<_> = (0..PROCESSORS).map(|number| Processor::joined(number, &mut bucket)).collect();
        Self {
            bucket,
            callers: (0..callers).map(Caller::new).collect(),
            requests: Vec::new(),
            processors,
            late: Vec::new(),
            upstream: Vec::new(),
            faults,
            seen: Seen::default(),
        }
    }

    pub fn is_untaken(&self) -> bool {
        self.processors.iter().all(Processor::is_unused) && !self.bucket.jobs.iter().any(|job| job.handed_out)
    }

    /// A call to Redis by a process that waits for the answer.
    pub fn call(&mut self, call: &Call, fate: Fate, rules: Rules) {
        let reply = match fate {
            Fate::Late | Fate::Refused => None,
            _ => Some(self.run(call, rules)),
        };
        match (fate, reply) {
            (Fate::Answered, Some(reply)) => self.hear(call, &reply),
            (Fate::Refused, _) => self.hear_refusal(call),
            (Fate::CallerDies, _) => self.lose_caller_of(call),
            (Fate::Late, _) => {
                self.late.push(call.clone());
                self.late.sort_unstable();
                self.hear_nothing(call);
            }
            _ => self.hear_nothing(call),
        }
    }

    /// A late call arrives; nobody waits for what it answers.
    pub fn arrive(&mut self, late: usize, call: &Call, rules: Rules) {
        self.late.remove(late);
        self.run(call, rules);
    }

    fn run(&mut self, call: &Call, rules: Rules) -> Reply {
        let before = matches!(call, Call::Settle { .. }).then(|| self.bucket.clone());
        let reply = self.bucket.run(call, rules);
        self.upstream.resize_with(self.bucket.jobs.len(), Upstream::default);
        if let (Call::Settle { consumer, job, .. }, Some(before)) = (call, before)
            && before != self.bucket
        {
            self.seen.fenced_replica_changed_something |= !before.is_member(*consumer);
            self.upstream_mut(*job).open.retain(|caller| caller != consumer);
        }
        reply
    }

    fn hear(&mut self, call: &Call, reply: &Reply) {
        match (call, reply) {
            (Call::Admit { token, .. }, Reply::Admission(admission)) => self.answer(*token, *admission),
            (Call::Take { consumer, number, .. }, Reply::Taken(job)) => self.taken(*consumer, *number, *job),
            (Call::Strays { consumer, number, .. }, Reply::GivenBack) => self.sure(*consumer, *number),
            (Call::Settle { consumer, job, .. }, Reply::Settled(settled)) => self.settled(*consumer, *job, *settled),
            _ => unreachable!("{call:?} is never answered by {reply:?}"),
        }
    }

    fn hear_nothing(&mut self, call: &Call) {
        match call {
            Call::Admit { token, .. } => self.admit_again(*token),
            Call::Take { consumer, number, .. } | Call::Strays { consumer, number, .. } => {
                self.doubt(*consumer, *number);
            }
            Call::Settle { consumer, job, settlement, .. } => self.settle_again(*consumer, *job, *settlement),
        }
    }

    fn hear_refusal(&mut self, call: &Call) {
        if let Call::Admit { token, again, .. } = call {
            self.not_stored(*token, *again);
        }
    }

    fn lose_caller_of(&mut self, call: &Call) {
        match call {
            Call::Admit { token, .. } => self.crash_intake_of(*token),
            Call::Take { consumer, .. } | Call::Strays { consumer, .. } | Call::Settle { consumer, .. } => {
                self.crash_processor(consumer.processor);
            }
        }
    }

    /// A call goes out to the upstream.
    pub fn send(&mut self, consumer: Consumer, job: JobId, succeeds: bool) {
        self.seen.call_after_success |= self.bucket.job(job).outcomes.contains(&Ending::Delivered);
        self.seen.unexplained_duplicate |= !self.upstream_mut(job).open.is_empty();
        let upstream = self.upstream_mut(job);
        upstream.open.push(consumer);
        upstream.done |= succeeds;
    }

    /// From now on a second call of what this consumer had called has its cause.
    pub fn explain_calls_of(&mut self, consumer: Consumer) {
        for upstream in &mut self.upstream {
            upstream.open.retain(|caller| *caller != consumer);
        }
    }

    fn upstream_mut(&mut self, job: JobId) -> &mut Upstream {
        &mut self.upstream[usize::from(job)]
    }

    /// Forgets what can make no difference any more, so that states which differ in nothing else are one.
    pub fn forget(&mut self) {
        let (requests, late) = (&self.requests, &self.late);
        self.bucket.tokens.retain(|(token, _)| {
            let comes_late = |call: &Call| matches!(call, Call::Admit { token: late, .. } if late == token);
            requests.iter().any(|request| request.token == *token) || late.iter().any(comes_late)
        });
        self.forget_numbers();
    }
}
