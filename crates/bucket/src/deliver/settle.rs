//! Settles jobs: records the results of attempts in batches. Only the replica that claimed the jobs can settle them:
//! the script checks its membership once for the batch.

mod arguments;
mod ended_attempt;
mod in_parts;
pub(crate) mod refund;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use dripfeed_store::{Call, RecurringFailure, StoreError};

pub use self::arguments::SettleResult;
use self::arguments::{add_completed, add_job, add_verb, mean_us, packed_calls, packed_ends};
pub(crate) use self::ended_attempt::{BoxedAttempt, EndedAttempt};
pub use self::ended_attempt::{FailedCall, Feedback, Settlement};
use crate::script::batches::{Batches, Limits};
use crate::script::constants::{BATCH_BYTES, BATCH_JOBS};
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::Scripts;
use crate::settings::Keep;

/// Without the rules of limits: the script may reduce the rate, but takes no tokens.
pub(crate) static SCRIPTS: Scripts = Scripts::without_rules("settle", include_str!("settle.lua"));

/// For all buckets of this process, which usually share the cause.
static OUTAGE: RecurringFailure = RecurringFailure::new();
static REFUSED: RecurringFailure = RecurringFailure::new();

/// One call at a time: the number of the last settled batch then shows whether a call was executed.
const LIMITS: Limits = Limits { items: BATCH_JOBS, bytes: BATCH_BYTES, calls: 1 };

/// The approximate size of the record of a failed attempt.
const FAILED_BYTES: usize = 2 << 10;

const MIN_BACKOFF: Duration = Duration::from_millis(20);
const MAX_BACKOFF: Duration = Duration::from_secs(1);
/// A batch that Redis has refused this often is split.
const MAX_REFUSALS: u32 = 3;

/// Returns an attempt as an error if it can't be settled even alone. Nothing was changed then.
pub(crate) type Settlements = Batches<BoxedAttempt, Result<SettleResult, BoxedAttempt>>;

pub(crate) fn start(redis_bucket: Arc<RedisBucket>, consumer: String) -> Settlements {
    let numbers = Arc::new(AtomicU64::new(0));
    Batches::new(LIMITS, weigh, move |batch: Vec<BoxedAttempt>| {
        let (redis_bucket, consumer, numbers) = (redis_bucket.clone(), consumer.clone(), numbers.clone());
        async move { redis_bucket.settle_in_parts(&consumer, &numbers, batch).await }
    })
}

/// The bytes that the script handles: it reads a job that is buried, is sent the elements of lists, and rewrites the
/// records of failed attempts.
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
    /// Retries until Redis answers: otherwise an outage of Redis would cause calls to be made again. Returns an error
    /// if Redis refuses the script repeatedly. As the script checks before it writes, nothing was changed then.
    async fn settle(
        &self,
        consumer: &str,
        number: u64,
        batch: &[BoxedAttempt],
    ) -> Result<Vec<SettleResult>, StoreError> {
        let call = self.settle_call(consumer, number, batch);
        let mut backoff = MIN_BACKOFF;
        let mut reported = false;
        // Refusals since the last call without an answer. Such a call may have been executed: `is_unknown`.
        let (mut refusals, mut is_unknown) = (0, false);
        loop {
            match self.store.run_durably::<String>(&call).await {
                Ok(answer) => return Ok(SettleResult::each_of(&answer, batch)),
                Err(error) => {
                    let failure = if error.is_unanswered() { &OUTAGE } else { &REFUSED };
                    let is_known = !reported && failure.occurred().is_none();
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
                    if refusals >= MAX_REFUSALS && !(is_unknown && self.may_be_settled(consumer, number).await) {
                        return Err(error);
                    }
                }
            }
            tokio::time::sleep(backoff.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
            backoff = (backoff * 2).min(MAX_BACKOFF);
        }
    }

    /// Whether a call whose answer was lost may have settled the batch, according to the number of the last settled
    /// one. The script would answer that number, so what is refused then isn't the batch.
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
        add_completed(&mut call, batch);
        for ended in batch.iter().filter(|ended| ended.answer().is_none()) {
            add_job(&mut call, &ended.claim);
            add_verb(&mut call, ended, &settings.leak, &ended.failed_line(consumer, &settings.keep));
        }
        call
    }
}
