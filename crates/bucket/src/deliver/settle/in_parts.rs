//! Splits a batch that can't be settled as a whole.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};

use dripfeed_store::RecurringFailure;
use futures::FutureExt as _;

use super::arguments::SettleResult;
use super::ended_attempt::BoxedAttempt;
use crate::script::redis_bucket::RedisBucket;

/// Shared by all buckets of this process.
static PANICKED: RecurringFailure = RecurringFailure::new();

enum PartResult {
    Settled(Vec<SettleResult>),
    /// Redis refused the batch repeatedly. Nothing was changed.
    Refused,
    /// This process panicked, because of a bug. Nothing was changed.
    Panicked,
}

impl RedisBucket {
    /// Settles a batch in one call. If that is refused, or panics, it is halved until the job that can't be settled is
    /// alone, so that the others don't wait for it. That job's attempt is returned as an error.
    pub(super) async fn settle_in_parts(
        &self,
        consumer: &str,
        numbers: &AtomicU64,
        mut batch: Vec<BoxedAttempt>,
    ) -> Vec<Result<SettleResult, BoxedAttempt>> {
        let unused: Vec<_> = batch.iter_mut().filter_map(|ended| ended.feedback.unused.take()).collect();
        if !unused.is_empty() {
            // Before the jobs can be taken again.
            self.refund(consumer, unused).await;
        }
        let mut results = Vec::with_capacity(batch.len());
        // A stack: the last part is settled next.
        let mut parts = vec![batch];
        while let Some(mut part) = parts.pop() {
            let number = numbers.fetch_add(1, Ordering::Relaxed) + 1;
            for ended in &mut part {
                ended.claim.guard.join_batch(number);
            }
            let result = self.settle_catching_panics(consumer, number, &part).await;
            if let PartResult::Settled(settled) = result {
                results.extend(settled.into_iter().map(Ok));
                continue;
            }
            for ended in &mut part {
                ended.claim.guard.leave_batch();
            }
            if part.len() > 1 {
                let rest = part.split_off(part.len() / 2);
                parts.extend([rest, part]);
                continue;
            }
            if matches!(result, PartResult::Panicked) {
                part.iter_mut().for_each(|ended| ended.remove_answer());
            }
            results.extend(part.into_iter().map(Err));
        }
        results
    }

    /// A panic must not drop the claims: their jobs would be called again, and cause the same panic.
    async fn settle_catching_panics(&self, consumer: &str, number: u64, batch: &[BoxedAttempt]) -> PartResult {
        let settling = AssertUnwindSafe(self.settle(consumer, number, batch)).catch_unwind();
        match settling.await {
            Ok(Ok(settled)) => PartResult::Settled(settled),
            Ok(Err(_)) => PartResult::Refused,
            Err(_) if self.may_be_settled(consumer, number).await => {
                PartResult::Settled(vec![SettleResult::Recorded; batch.len()])
            }
            Err(_) => {
                if PANICKED.occurred().is_some() {
                    let (bucket, jobs) = (&self.settings().name, batch.len());
                    let job = batch.first().filter(|_| jobs == 1).map(|ended| ended.claim.id.to_string());
                    tracing::error!(%bucket, jobs, job, "recording outcomes panicked; retrying, without calling the \
                        jobs again; this is a bug, please report it");
                }
                PartResult::Panicked
            }
        }
    }
}
