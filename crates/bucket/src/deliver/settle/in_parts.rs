//! Settles a batch in parts where it can't be settled at once.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};

use dripfeed_store::Trouble;
use futures::FutureExt as _;

use super::ended_attempt::{BoxedAttempt, Settled};
use crate::script::redis_bucket::RedisBucket;

/// Of this process.
static PANICKED: Trouble = Trouble::new();

/// How it ends to settle some attempts.
enum SettlingEnd {
    Settled(Vec<Settled>),
    /// Nothing was changed.
    Refused,
    /// The same, for a bug.
    Panicked,
}

impl RedisBucket {
    /// In one call. Where Redis refuses that time and again, or it panics, in halves, until the job that can't be
    /// settled stands alone: the others don't wait for it.
    pub(super) async fn settle_in_parts(
        &self,
        consumer: &str,
        numbers: &AtomicU64,
        batch: Vec<BoxedAttempt>,
    ) -> Vec<Result<Settled, BoxedAttempt>> {
        let mut answers = Vec::with_capacity(batch.len());
        // The next is the last.
        let mut parts = vec![batch];
        while let Some(mut part) = parts.pop() {
            let number = numbers.fetch_add(1, Ordering::Relaxed) + 1;
            for ended in &mut part {
                ended.claim.guard.join_batch(number);
            }
            let end = self.settle_unbroken(consumer, number, &part).await;
            if let SettlingEnd::Settled(settled) = end {
                answers.extend(settled.into_iter().map(Ok));
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
            if matches!(end, SettlingEnd::Panicked) {
                part.iter_mut().for_each(|ended| ended.leave_answer_out());
            }
            answers.extend(part.into_iter().map(Err));
        }
        answers
    }

    /// A panic must not take the claims with it: their jobs would be called again, and again for the same panic.
    async fn settle_unbroken(&self, consumer: &str, number: u64, batch: &[BoxedAttempt]) -> SettlingEnd {
        let settling = AssertUnwindSafe(self.settle(consumer, number, batch)).catch_unwind();
        match settling.await {
            Ok(Ok(settled)) => SettlingEnd::Settled(settled),
            Ok(Err(_)) => SettlingEnd::Refused,
            Err(_) if self.may_be_settled(consumer, number).await => {
                SettlingEnd::Settled(vec![Settled::Recorded; batch.len()])
            }
            Err(_) => {
                if PANICKED.came().is_some() {
                    let (bucket, jobs) = (&self.settings().name, batch.len());
                    let job = batch.first().filter(|_| jobs == 1).map(|ended| ended.claim.id.to_string());
                    tracing::error!(%bucket, jobs, job, "recording outcomes panicked; retrying, without calling the \
                        jobs again; this is a bug, please report it");
                }
                SettlingEnd::Panicked
            }
        }
    }
}
