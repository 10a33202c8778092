//! Settle: records the result of an attempt, by the replica that made it. Only the owner settles: one check of its
//! membership fences the whole batch.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dripfeed_job::duration::ms_up;
use dripfeed_job::outcome::AnswerBody;
use dripfeed_job::outcome::failed_attempt::FailedAttempt;
use dripfeed_job::{Chain, Ending, Outcome};
use dripfeed_store::{Call, StoreError};

use crate::deliver::take::Claim;
use crate::script::batches::{Batches, Limits};
use crate::script::constants::{BATCH_BYTES, BATCH_JOBS};
use crate::script::pace_constants::{LATE_CALL, REFUSED_CALL};
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::Scripts;
use crate::settings::{BucketSettings, Keep, Leak};

/// It may cut the speed of the pace, and judges nothing by its plan.
static SCRIPTS: Scripts = Scripts::without_rules("settle", include_str!("settle.lua"));

/// One call at a time, so that its number shows whether it was carried out.
const LIMITS: Limits = Limits { items: BATCH_JOBS, bytes: BATCH_BYTES, calls: 1, rest: Duration::ZERO };

/// About what one failed attempt takes.
const FAILED_BYTES: usize = 2 << 10;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// A batch that Redis has refused so often is split.
const REFUSALS: u32 = 3;

/// How to settle a claimed job.
#[derive(Clone, Debug)]
pub enum Settlement {
    Complete {
        status: u16,
        answer: Option<AnswerBody>,
    },
    /// The attempt failed: retry after the delay. In a list, which has no retries, the job is dead-lettered.
    Retry {
        after: Duration,
    },
    /// The upstream asked to wait: the bucket is throttled, the job is due after that, and the attempt isn't counted.
    /// None: the upstream named no time.
    Throttled {
        wait: Option<Duration>,
    },
    /// Not called, or aborted by this process: requeued at once, without counting an attempt.
    Requeue,
    Bury {
        reason: String,
        status: Option<u16>,
        answer: Option<AnswerBody>,
        called: bool,
    },
}

impl Settlement {
    /// The delay until the job may be claimed again. None: decided elsewhere, or never.
    pub(crate) const fn due_again(&self) -> Option<Duration> {
        match self {
            Self::Retry { after } => Some(*after),
            Self::Requeue => Some(Duration::ZERO),
            Self::Complete { .. } | Self::Throttled { .. } | Self::Bury { .. } => None,
        }
    }
}

/// Feedback of an attempt about the upstream, independent of the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// The call timed out.
    pub timed_out: bool,
    /// The upstream's quota is used up for this long: the bucket is throttled.
    pub exhausted_for: Option<Duration>,
    /// The record of a failed call. None: it succeeded, or none was made.
    pub failed: Option<FailedCall>,
}

/// How a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCall {
    pub status: Option<u16>,
    pub reason: String,
    pub answer: Option<AnswerBody>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Recorded,
    /// The replica was declared dead: another one has the job, and nothing was changed.
    Fenced,
}

pub(crate) struct EndedAttempt {
    claim: Claim,
    settlement: Settlement,
    feedback: Feedback,
    lasted: Duration,
}

impl EndedAttempt {
    pub(crate) fn new(claim: Claim, settlement: Settlement, feedback: Feedback) -> Self {
        let lasted = claim.taken_at.elapsed();
        Self { claim, settlement, feedback, lasted }
    }

    /// How the upstream took the call, in the words of the script.
    fn reaction(&self) -> &'static str {
        match self.settlement {
            _ if !self.was_called() => "",
            Settlement::Throttled { .. } => REFUSED_CALL,
            _ if self.feedback.timed_out => LATE_CALL,
            _ => "answered",
        }
    }

    /// For how long the bucket is to be throttled, in ms.
    fn throttle_ms(&self, leak: &Leak) -> u64 {
        let asked = match self.settlement {
            Settlement::Throttled { wait } => Some(wait.unwrap_or(leak.default_hold)),
            _ => self.feedback.exhausted_for,
        };
        asked.map_or(0, |asked| ms_up(asked.min(leak.max_hold)))
    }

    /// As it is kept; '' where it isn't.
    fn failed_line(&self, consumer: &str, keep: &Keep) -> String {
        let Some(failed) = self.feedback.failed.clone().filter(|_| keep.failed_attempts > 0) else {
            return String::new();
        };
        let is_last = matches!(self.settlement, Settlement::Bury { .. });
        let attempt = FailedAttempt {
            attempt: self.claim.failures.saturating_add(1),
            at_ms: self.claim.taken_ms,
            took_ms: ms_up(self.lasted),
            replica: consumer.to_owned(),
            status: failed.status,
            reason: failed.reason,
            // The outcome has the last one.
            answer: failed.answer.filter(|_| !is_last && keep.failed_answer_bytes > 0),
        };
        attempt.to_line(keep.failed_answer_bytes)
    }

    /// Status and body, where that completes the job.
    fn answer(&self) -> Option<(u16, Option<&AnswerBody>)> {
        match &self.settlement {
            Settlement::Complete { status, answer } => Some((*status, answer.as_ref())),
            _ => None,
        }
    }

    fn was_called(&self) -> bool {
        !matches!(self.settlement, Settlement::Requeue | Settlement::Bury { called: false, .. })
    }
}

/// An ended attempt that comes back is one that Redis refuses to settle, alone: nothing of it was changed.
pub(crate) type Settlements = Batches<EndedAttempt, Result<Settled, Box<EndedAttempt>>>;

pub(crate) fn start(redis_bucket: Arc<RedisBucket>, consumer: String) -> Settlements {
    let numbers = Arc::new(AtomicU64::new(0));
    Batches::new(LIMITS, weigh, move |batch: Vec<EndedAttempt>| {
        let (redis_bucket, consumer, numbers) = (redis_bucket.clone(), consumer.clone(), numbers.clone());
        async move { redis_bucket.settle_in_parts(&consumer, &numbers, batch).await }
    })
}

/// What the script reads, sends or writes of it: a buried job is read whole, an element is sent, and what is kept of
/// failed attempts is read and written again.
fn weigh(ended: &EndedAttempt) -> usize {
    let is_read = ended.claim.element.is_some() || matches!(ended.settlement, Settlement::Bury { .. });
    let failed = usize::try_from(ended.claim.failures.min(Keep::MOST_FAILED_ATTEMPTS)).unwrap_or(usize::MAX);
    let job = if is_read { ended.claim.size } else { 0 } + failed.saturating_mul(FAILED_BYTES);
    match &ended.settlement {
        Settlement::Complete { answer: Some(answer), .. } | Settlement::Bury { answer: Some(answer), .. } => {
            job + answer.body.len()
        }
        _ => job,
    }
}

impl RedisBucket {
    /// In one call. Where Redis refuses that time and again, in halves, until the job that can't be settled stands
    /// alone: the others don't wait for it.
    async fn settle_in_parts(
        &self,
        consumer: &str,
        numbers: &AtomicU64,
        batch: Vec<EndedAttempt>,
    ) -> Vec<Result<Settled, Box<EndedAttempt>>> {
        let mut answers = Vec::with_capacity(batch.len());
        // The next is the last.
        let mut parts = vec![batch];
        while let Some(mut part) = parts.pop() {
            let number = numbers.fetch_add(1, Ordering::Relaxed) + 1;
            for ended in &mut part {
                ended.claim.guard.join_batch(number);
            }
            if let Ok(settled) = self.settle(consumer, number, &part).await {
                answers.extend(part.iter().map(|_| Ok(settled)));
                continue;
            }
            for ended in &mut part {
                ended.claim.guard.leave_batch();
            }
            if part.len() > 1 {
                let rest = part.split_off(part.len() / 2);
                parts.extend([rest, part]);
            } else {
                answers.extend(part.into_iter().map(|ended| Err(Box::new(ended))));
            }
        }
        answers
    }

    /// Tries until Redis answers: a call that was made must not be made again because Redis was away for a while. An
    /// error when the script failed time and again: it checks before it writes, so nothing was changed.
    async fn settle(&self, consumer: &str, number: u64, batch: &[EndedAttempt]) -> Result<Settled, StoreError> {
        let call = self.settle_call(consumer, number, batch);
        let mut pause = FIRST_PAUSE;
        let mut reported = false;
        // A call without an answer may have been carried out: then this batch is what must be asked about.
        let (mut refusals, mut is_unknown) = (0, false);
        loop {
            match self.store.run_durably::<String>(&call).await {
                Ok(word) if word == "fenced" => return Ok(Settled::Fenced),
                Ok(_) => return Ok(Settled::Recorded),
                Err(error) => {
                    if !reported {
                        let bucket = &self.settings().name;
                        let job = (batch.len() == 1).then(|| batch.first().map(|ended| ended.claim.id.to_string()));
                        let job = job.flatten();
                        let jobs = batch.len();
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(
                            %bucket, jobs, job, error,
                            "could not record outcomes in Redis; retrying"
                        );
                        reported = true;
                    }
                    is_unknown |= error.is_unanswered();
                    refusals += u32::from(!error.is_transient());
                    if refusals >= REFUSALS && !is_unknown {
                        return Err(error);
                    }
                }
            }
            tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn settle_call(&self, consumer: &str, number: u64, batch: &[EndedAttempt]) -> Call<'static> {
        let effective = self.effective_settings();
        let (keys, settings) = (&self.keys, &effective.settings);
        let common = vec![
            keys.jobs(),
            keys.pace(),
            keys.meter(),
            keys.tally(),
            keys.replicas(),
            keys.batches(),
            keys.outcomes(),
            keys.ended(),
            keys.dead(),
            keys.letters(),
            keys.letter_sizes(),
            keys.holders(),
            keys.keyed_jobs(),
            keys.key_ends(),
            keys.notices(),
        ];
        let common = keys.and_outbox(common, &settings.on_outcome);
        let mut call = SCRIPTS.of(self.kind).on(&keys.and_held(common, consumer));
        call.arg(consumer).arg(number);
        call.arg(packed_ends(settings, batch)).arg(mean_us(batch));
        call.arg(batch.iter().map(|ended| ended.throttle_ms(&settings.leak)).max().unwrap_or(0));
        let is_adaptive = settings.leak.adaptive && effective.pace.is_some();
        call.arg(if is_adaptive { packed_calls(batch) } else { String::new() });
        complete(&mut call, batch);
        for ended in batch.iter().filter(|ended| ended.answer().is_none()) {
            job(&mut call, &ended.claim);
            verb(&mut call, ended, &settings.leak, &ended.failed_line(consumer, &settings.keep));
        }
        call
    }
}

/// How the upstream took each call, and when its job was taken.
fn packed_calls(batch: &[EndedAttempt]) -> String {
    let called = batch.iter().filter(|ended| ended.was_called());
    called.map(|ended| format!("{} {} ", ended.reaction(), ended.claim.taken_ms)).collect()
}

/// As its kind names it.
fn job(call: &mut Call<'_>, claim: &Claim) {
    match &claim.element {
        None => call.arg(claim.id.to_string()),
        Some(element) => call.arg(&element[..]),
    };
}

/// The completed jobs of a batch: their bytes, in all and by caller, and the record of each.
fn complete(call: &mut Call<'_>, batch: &[EndedAttempt]) {
    let completed: Vec<_> = batch.iter().filter_map(|ended| Some((&ended.claim, ended.answer()?))).collect();
    let (mut freed, mut callers) = (0, BTreeMap::<_, (u64, u64)>::new());
    // What somebody else has added counts no bytes, and is no caller's.
    for (claim, _) in completed.iter().filter(|(claim, _)| claim.bytes > 0) {
        freed += claim.bytes;
        if let Some(caller) = claim.caller.as_deref().filter(|caller| !caller.is_empty()) {
            let (jobs, bytes) = callers.entry(caller).or_default();
            (*jobs, *bytes) = (*jobs + 1, *bytes + claim.bytes);
        }
    }
    call.arg(freed).arg(callers.len()).arg(completed.len());
    for (claim, _) in &completed {
        job(call, claim);
    }
    for (claim, (status, answer)) in &completed {
        call.arg(record(claim, Ending::Delivered, None, Some(*status), claim.failures + 1, *answer));
    }
    for (caller, (jobs, bytes)) in callers {
        call.arg(caller).arg(jobs).arg(bytes);
    }
}

fn record(
    claim: &Claim,
    result: Ending,
    reason: Option<&str>,
    status: Option<u16>,
    attempts: u32,
    answer: Option<&AnswerBody>,
) -> String {
    let (reason, caller) = (reason.map(str::to_owned), claim.caller.clone());
    Outcome { result, reason, status, attempts, caller, answer: answer.cloned() }.to_record()
}

/// What is kept and which ends go elsewhere; where some do, also what each job says about that.
fn packed_ends(settings: &BucketSettings, batch: &[EndedAttempt]) -> String {
    let mut packed = settings.packed_ends();
    if !settings.on_outcome.is_empty() {
        for EndedAttempt { claim, .. } in batch.iter().filter(|ended| ended.claim.chain != Chain::default()) {
            packed += &format!("\nof {} {}", claim.id, claim.chain.to_field());
        }
    }
    packed
}

/// `failed`: the attempt as it is kept.
fn verb(call: &mut Call<'_>, ended: &EndedAttempt, leak: &Leak, failed: &str) {
    let EndedAttempt { claim, settlement, .. } = ended;
    match settlement {
        // See `complete`.
        Settlement::Complete { .. } => {}
        // An element: this is a list.
        Settlement::Retry { .. } if claim.element.is_some() => {
            let reason = "the attempt failed, and a list bucket doesn't retry";
            let record = record(claim, Ending::Dead, Some(reason), None, claim.failures + 1, None);
            call.arg("bury").arg(record).arg(reason).arg(failed);
        }
        Settlement::Retry { after } => {
            call.arg("park").arg(ms_up(*after)).arg("1").arg(failed);
        }
        Settlement::Throttled { .. } => {
            call.arg("park").arg(ended.throttle_ms(leak)).arg("0").arg("");
        }
        Settlement::Requeue => {
            call.arg("park").arg(0).arg("").arg("");
        }
        Settlement::Bury { reason, status, answer, called } => {
            let attempts = claim.failures + u32::from(*called);
            let record = record(claim, Ending::Dead, Some(reason), *status, attempts, answer.as_ref());
            call.arg("bury").arg(record).arg(reason).arg(failed);
        }
    }
}

/// Of the attempts in which the upstream was called, in µs; 0 when none exists.
fn mean_us(batch: &[EndedAttempt]) -> u64 {
    let called = || batch.iter().filter(|ended| ended.was_called());
    let calls = called().count() as u128;
    let sum: u128 = called().map(|ended| ended.lasted.as_micros()).sum();
    u64::try_from(sum.checked_div(calls).unwrap_or(0)).unwrap_or(u64::MAX)
}
