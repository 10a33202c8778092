//! Settle: records the result of an attempt, by the replica that made it. Only the owner settles: one check of its
//! membership fences the whole batch.

mod arguments;
mod ended_attempt;
mod in_parts;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use dripfeed_store::{Call, StoreError, Trouble};

use self::arguments::{complete, job, mean_us, packed_calls, packed_ends, verb};
pub(crate) use self::ended_attempt::{BoxedAttempt, EndedAttempt};
pub use self::ended_attempt::{FailedCall, Feedback, Settled, Settlement};
use crate::script::batches::{Batches, Limits};
use crate::script::constants::{BATCH_BYTES, BATCH_JOBS};
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::Scripts;
use crate::settings::Keep;

/// It may cut the speed of the pace, and judges nothing by its plan.
pub(crate) static SCRIPTS: Scripts = Scripts::without_rules("settle", include_str!("settle.lua"));

/// Of this process: an outage concerns all buckets, and what Redis refuses of one job it refuses of all.
static OUTAGE: Trouble = Trouble::new();
static REFUSED: Trouble = Trouble::new();

/// One call at a time, so that its number shows whether it was carried out.
const LIMITS: Limits = Limits { items: BATCH_JOBS, bytes: BATCH_BYTES, calls: 1 };

/// About what one failed attempt takes.
const FAILED_BYTES: usize = 2 << 10;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// A batch that Redis has refused so often is split.
const REFUSALS: u32 = 3;

/// An ended attempt that comes back is one that can't be settled, alone: nothing of it was changed.
pub(crate) type Settlements = Batches<BoxedAttempt, Result<Settled, BoxedAttempt>>;

pub(crate) fn start(redis_bucket: Arc<RedisBucket>, consumer: String) -> Settlements {
    let numbers = Arc::new(AtomicU64::new(0));
    Batches::new(LIMITS, weigh, move |batch: Vec<BoxedAttempt>| {
        let (redis_bucket, consumer, numbers) = (redis_bucket.clone(), consumer.clone(), numbers.clone());
        async move { redis_bucket.settle_in_parts(&consumer, &numbers, batch).await }
    })
}

/// What the script reads, sends or writes of it: a buried job is read whole, an element is sent, and what is kept of
/// failed attempts is read and written again.
fn weigh(ended: &BoxedAttempt) -> usize {
    let is_read = ended.claim.element.is_some() || matches!(ended.settlement, Settlement::Bury { .. });
    let failed = usize::try_from(ended.claim.failures.min(Keep::MOST_FAILED_ATTEMPTS)).unwrap_or(usize::MAX);
    let job = if is_read { ended.claim.size } else { 0 } + failed.saturating_mul(FAILED_BYTES);
    match &ended.settlement {
        Settlement::Complete { answer: Some(answer), .. } | Settlement::Bury { answer: Some(answer), .. } => {
            job + answer.size()
        }
        _ => job,
    }
}

impl RedisBucket {
    /// Tries until Redis answers: a call that was made must not be made again because Redis was away for a while. An
    /// error when Redis refused the script time and again: it checks before it writes, so nothing was changed.
    async fn settle(&self, consumer: &str, number: u64, batch: &[BoxedAttempt]) -> Result<Vec<Settled>, StoreError> {
        let call = self.settle_call(consumer, number, batch);
        let mut pause = FIRST_PAUSE;
        let mut reported = false;
        // Since the last call without an answer, which may have been carried out.
        let (mut refusals, mut is_unknown) = (0, false);
        loop {
            match self.store.run_durably::<String>(&call).await {
                Ok(words) => return Ok(Settled::each_of(&words, batch)),
                Err(error) => {
                    let trouble = if error.is_unanswered() { &OUTAGE } else { &REFUSED };
                    let is_known = !reported && trouble.came().is_none();
                    if is_known {
                        tracing::debug!(bucket = %self.settings().name, "could not record outcomes in Redis; retrying");
                    } else if !reported {
                        let bucket = &self.settings().name;
                        let job = batch.first().filter(|_| batch.len() == 1).map(|ended| ended.claim.id.to_string());
                        let jobs = batch.len();
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(%bucket, jobs, job, error, "could not record outcomes in Redis; retrying");
                    }
                    reported = true;
                    if error.is_unanswered() {
                        (refusals, is_unknown) = (0, true);
                    } else if !error.is_transient() {
                        refusals += 1;
                    }
                    if refusals >= REFUSALS && !(is_unknown && self.may_be_settled(consumer, number).await) {
                        return Err(error);
                    }
                }
            }
            tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Whether a call whose answer was lost may have carried the batch out, by the number of the last one. Then it
    /// isn't the script that refuses it: that knows the number.
    async fn may_be_settled(&self, consumer: &str, number: u64) -> bool {
        let mut last = redis::cmd("HGET");
        last.arg(self.keys.batches()).arg(consumer);
        let last = self.store.command::<Option<u64>>(&last).await;
        last.map_or(true, |last| last.is_some_and(|last| last >= number))
    }

    fn settle_call(&self, consumer: &str, number: u64, batch: &[BoxedAttempt]) -> Call<'static> {
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
        call.arg(packed_ends(&effective, batch)).arg(mean_us(batch));
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
