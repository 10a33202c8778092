//! Processors: they take, call, settle, and live again under another name when they were declared dead.

use super::bucket::{ATTEMPTS, Bucket, Call, Consumer, JobId, Rules, Settled, Settlement};
use super::bug::Bug;
use super::world::{Fate, World};

/// Calls under way at once.
pub const CONCURRENCY: usize = 2;

/// What may become of a call of a replica.
pub const FATES: [Fate; 4] = [Fate::Answered, Fate::ReplyLost, Fate::Late, Fate::CallerDies];

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Processor {
    pub number: u8,
    pub lives_so_far: u8,
    /// The last one takes. What those before still have under way goes on, to be refused.
    pub lives: Vec<Life>,
}

/// A membership of the group, as its process knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Life {
    pub consumer: Consumer,
    pub claims: Vec<Claim>,
    /// There may be jobs that it holds without a claim.
    pub doubt: bool,
    /// Counts takes and questions for strays.
    pub asked: u8,
    pub batches: u8,
    /// The batch that was sent and had no answer. Its job may be taken again meanwhile, and then has two claims.
    pub unanswered: Option<(Claim, Settlement)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    pub job: JobId,
    pub stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Not called yet.
    Fresh,
    /// Not called, and the permit is too old to.
    Stale,
    /// Called, and judged: so it is to be settled.
    Judged(Settlement),
    /// Settled, and not called yet: only with `Bug::AckBeforeSend`.
    AckedUnsent,
}

impl Processor {
    pub fn joined(number: u8, bucket: &mut Bucket) -> Self {
        let mut processor = Self { number, lives_so_far: 0, lives: Vec::new() };
        processor.join(bucket);
        processor
    }

    fn join(&mut self, bucket: &mut Bucket) {
        let consumer = self.next_name();
        bucket.join(consumer);
        self.lives.retain(Life::is_busy);
        self.lives.push(Life::new(consumer));
    }

    fn next_name(&mut self) -> Consumer {
        self.lives_so_far += 1;
        Consumer { processor: self.number, life: self.lives_so_far }
    }

    /// The life that takes, unless it has ended.
    pub fn alive(&self, bucket: &Bucket) -> Option<&Life> {
        self.lives.last().filter(|life| bucket.is_member(life.consumer))
    }

    /// Its first life, of which nothing is to be reported yet.
    pub fn is_unused(&self) -> bool {
        let unused = |life: &Life| !life.is_busy() && !life.doubt;
        self.lives_so_far == 1 && self.lives.len() == 1 && self.lives.iter().all(unused)
    }

    pub fn has_a_free_slot(&self) -> bool {
        self.lives.iter().flat_map(Life::claimed).count() < CONCURRENCY
    }
}

impl Life {
    const fn new(consumer: Consumer) -> Self {
        Self { consumer, claims: Vec::new(), doubt: false, asked: 0, batches: 0, unanswered: None }
    }

    fn is_busy(&self) -> bool {
        self.claimed().next().is_some()
    }

    /// The jobs that it knows it holds, or may hold.
    fn claimed(&self) -> impl Iterator<Item = JobId> {
        let settling = self.unanswered.iter().map(|(claim, _)| claim);
        self.claims.iter().chain(settling).map(|claim| claim.job)
    }

    /// What it asks the bucket for: strays to be returned first, when there may be some.
    pub fn requests(&self, bucket: &Bucket, rules: Rules) -> Vec<Call> {
        let (consumer, number) = (self.consumer, self.asked + 1);
        if self.doubt && !rules.has(Bug::StraysKept) {
            let known = self.claims.iter().map(|claim| claim.job).collect();
            let settling = self.unanswered.map(|(claim, _)| (self.batches, claim.job));
            return vec![Call::Strays { consumer, number, known, settling }];
        }
        bucket.takeable().into_iter().map(|pick| Call::Take { consumer, number, pick }).collect()
    }

    /// The batches that may be settled next: one job each, and nothing else before an unanswered one.
    pub fn settlements(&self, rules: Rules) -> Vec<Call> {
        let consumer = self.consumer;
        if let Some((Claim { job, .. }, settlement)) = self.unanswered {
            return vec![Call::Settle { consumer, batch: self.batches, job, settlement }];
        }
        let settle = |claim: &Claim| {
            let settlement = claim.stage.settlement(rules)?;
            Some(Call::Settle { consumer, batch: self.batches + 1, job: claim.job, settlement })
        };
        self.claims.iter().filter_map(settle).collect()
    }

    /// Jobs that may be called now.
    pub fn to_call(&self, rules: Rules) -> impl Iterator<Item = JobId> {
        let stage = if rules.has(Bug::AckBeforeSend) { Stage::AckedUnsent } else { Stage::Fresh };
        self.claims.iter().filter(move |claim| claim.stage == stage).map(|claim| claim.job)
    }
}

impl Stage {
    fn settlement(self, rules: Rules) -> Option<Settlement> {
        match self {
            Self::Fresh if rules.has(Bug::AckBeforeSend) => Some(Settlement::Complete),
            Self::Fresh | Self::AckedUnsent => None,
            Self::Stale => Some(Settlement::Requeue),
            Self::Judged(settlement) => Some(settlement),
        }
    }
}

impl World {
    pub fn taken(&mut self, consumer: Consumer, number: u8, job: Option<JobId>) {
        let Some(life) = self.life(consumer) else { return };
        life.asked = number;
        if let Some(job) = job {
            life.hold(job, Stage::Fresh);
        }
    }

    pub fn doubt(&mut self, consumer: Consumer, number: u8) {
        let Some(life) = self.life(consumer) else { return };
        (life.asked, life.doubt) = (number, true);
    }

    pub fn sure(&mut self, consumer: Consumer, number: u8) {
        let Some(life) = self.life(consumer) else { return };
        (life.asked, life.doubt) = (number, false);
    }

    pub fn call_upstream(&mut self, consumer: Consumer, job: JobId, succeeds: bool, rules: Rules) {
        self.send(consumer, job, succeeds);
        let failures = self.bucket.job(job).failures + 1;
        let Some(life) = self.life(consumer) else { return };
        if rules.has(Bug::AckBeforeSend) {
            return life.claims.retain(|claim| claim.job != job);
        }
        let settlement = match succeeds {
            true => Settlement::Complete,
            false if failures < ATTEMPTS => Settlement::Retry,
            false => Settlement::Bury,
        };
        for claim in life.claims.iter_mut().filter(|claim| claim.job == job) {
            claim.stage = Stage::Judged(settlement);
        }
    }

    pub fn settled(&mut self, consumer: Consumer, job: JobId, settled: Settled) {
        let Some(life) = self.life(consumer) else { return };
        let settling = life.unanswered.take().map(|(claim, _)| claim);
        let Some(claim) = settling.or_else(|| life.send_claim(job)) else { return };
        match (settled, claim.stage) {
            (Settled::Recorded, Stage::Fresh) => life.hold(job, Stage::AckedUnsent),
            (Settled::HalfWay, stage) => life.hold(job, stage),
            (Settled::Recorded | Settled::Fenced, _) => {}
        }
    }

    pub fn settle_again(&mut self, consumer: Consumer, job: JobId, settlement: Settlement) {
        let Some(life) = self.life(consumer) else { return };
        if life.unanswered.is_none() {
            life.unanswered = life.send_claim(job).map(|claim| (claim, settlement));
        }
    }

    pub fn join(&mut self, processor: u8, fate: Fate) {
        let Self { processors, bucket, .. } = self;
        let processor = &mut processors[usize::from(processor)];
        match fate {
            // Without an answer the next try has another name; this one never beats.
            Fate::ReplyLost => bucket.join(processor.next_name()),
            _ => processor.join(bucket),
        }
    }

    /// Nobody is there any more who could beat under this name.
    pub fn is_dead(&self, consumer: Consumer) -> bool {
        let lives = &self.processors[usize::from(consumer.processor)].lives;
        !self.bucket.is_member(consumer) || lives.iter().all(|life| life.consumer != consumer)
    }

    pub fn has_something_at_stake(&self, processor: &Processor) -> bool {
        let at_stake = |life: &Life| life.is_busy() || life.doubt || !self.bucket.held_by(life.consumer).is_empty();
        processor.lives.iter().any(at_stake)
    }

    /// Someone else is alive to see it.
    pub fn is_observed(&self, consumer: Consumer) -> bool {
        let alive = self.processors.iter().filter_map(|processor| processor.alive(&self.bucket));
        alive.into_iter().any(|life| life.consumer != consumer)
    }

    /// A living replica stood still for so long that another one took it for dead. A permit doesn't live that long.
    pub fn declare_dead(&mut self, consumer: Consumer, rules: Rules) {
        self.bucket.recover(consumer, rules);
        self.explain_calls_of(consumer);
        let Some(life) = self.life(consumer) else { return };
        for claim in life.claims.iter_mut().filter(|claim| claim.stage == Stage::Fresh) {
            if !rules.has(Bug::OldPermitsSpent) {
                claim.stage = Stage::Stale;
            }
        }
    }

    pub fn crash_processor(&mut self, processor: u8) {
        let lives = std::mem::take(&mut self.processors[usize::from(processor)].lives);
        for life in lives {
            self.explain_calls_of(life.consumer);
        }
    }

    /// Numbers are compared with those of late and unanswered calls alone: where there are none, they start again.
    pub fn forget_numbers(&mut self) {
        let Self { processors, bucket, late, .. } = self;
        let lives = processors.iter_mut().flat_map(|processor| &mut processor.lives);
        for life in lives {
            let Some(enrolled) = bucket.group.iter_mut().find(|enrolled| enrolled.consumer == life.consumer) else {
                continue;
            };
            let late_settlement =
                |call: &Call| matches!(call, Call::Settle { consumer, .. } if *consumer == life.consumer);
            let late_question = |call: &Call| {
                let (Call::Take { consumer, .. } | Call::Strays { consumer, .. }) = call else { return false };
                *consumer == life.consumer
            };
            if life.unanswered.is_none() && !late.iter().any(late_settlement) {
                (life.batches, enrolled.last_batch) = (0, 0);
            }
            if !late.iter().any(late_question) {
                (life.asked, enrolled.given_up) = (0, 0);
            }
        }
    }

    fn life(&mut self, consumer: Consumer) -> Option<&mut Life> {
        let lives = &mut self.processors[usize::from(consumer.processor)].lives;
        lives.iter_mut().find(|life| life.consumer == consumer)
    }
}

impl Life {
    fn hold(&mut self, job: JobId, stage: Stage) {
        self.claims.push(Claim { job, stage });
        self.claims.sort_unstable_by_key(|claim| claim.job);
    }

    /// Into the next batch.
    fn send_claim(&mut self, job: JobId) -> Option<Claim> {
        self.batches += 1;
        let place = self.claims.iter().position(|claim| claim.job == job)?;
        Some(self.claims.remove(place))
    }
}
