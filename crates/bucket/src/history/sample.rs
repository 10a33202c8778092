//! Adds the counts since the last sample to the history.

use dripfeed_store::{Call, ErrorKind};

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::history::call_stats::CallStats;
use crate::history::window::HistoryWindow;
use crate::pace::PaceTarget;
use crate::script::redis_bucket::{EffectiveSettings, RedisBucket, WaitFor};
use crate::script::scripts::Scripts;

/// The script reads the pace, but grants no calls.
pub(crate) static SCRIPTS: Scripts = Scripts::without_rules("sample", include_str!("sample.lua"));

/// Replaces the last sample after a failure at `maxmemory`: what was counted until the next one belongs to no slot.
const LOST: &str = "lost";

impl Bucket {
    /// Adds to the history what the bucket has counted since the last sample of any process, and what this replica
    /// `saw`. To be called periodically, by any number of processes. At `maxmemory` the history isn't written.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time. Then `saw` must not be added again.
    pub async fn sample_history(&self, saw: &CallStats) -> Result<(), BucketError> {
        let redis_bucket = &self.redis_bucket;
        let (saw, known) = (saw.packed(), redis_bucket.last_look());
        let call = |effective: &EffectiveSettings| redis_bucket.sample_call(effective, &saw, &known);
        let look = match redis_bucket.run_with_settings("sample", WaitFor::Reply, call).await {
            Ok((_, mut reply)) => reply.text()?,
            Err(BucketError::Store(error)) if error.kind() == ErrorKind::Full => LOST.to_owned(),
            Err(error) => return Err(error),
        };
        redis_bucket.set_last_look(look);
        Ok(())
    }
}

impl RedisBucket {
    fn sample_call(&self, effective: &EffectiveSettings, saw: &str, known: &str) -> Call<'static> {
        let (keys, settings) = (&self.keys, &effective.settings);
        let common = vec![
            keys.history(),
            keys.jobs(),
            keys.tally(),
            keys.control(),
            keys.pace(),
            keys.meter(),
            keys.dead(),
            keys.outbox(),
        ];
        let mut call = SCRIPTS.of(self.kind).on(&keys.and_level(common));
        let target = PaceTarget::of(&settings.leak).map_or(0, |target| thousandths(target.per_second));
        call.arg(&effective.version).arg(settings.capacity).arg(target).arg(u8::from(settings.leak.adaptive));
        call.arg(saw).arg(known).arg(HistoryWindow::packed());
        call.arg(settings.dead_full_from().packed()).arg(settings.outbox_full_from().packed());
        call
    }

    fn last_look(&self) -> String {
        self.last_look.lock().clone()
    }

    fn set_last_look(&self, look: String) {
        *self.last_look.lock() = look;
    }
}

/// A rate in thousandths of a call per second; at least 1, because 0 means no rate.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive rate below 2^43")]
fn thousandths(per_second: f64) -> u64 {
    ((per_second * 1000.0).round() as u64).max(1)
}
