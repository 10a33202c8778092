//! Skips ticks that get no job.

use dripfeed_job::schedule::Step;
use dripfeed_store::Script;

use super::known_schedule::{KnownSchedule, tick_word};
use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("pass_ticks", SHARED, include_str!("pass_ticks.lua"));

impl Bucket {
    /// Skips ticks of schedules, at most as many as go into one script. Returns for each schedule whether this call has
    /// skipped its ticks. If not, another call did so before, or the schedule was changed.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn pass_ticks(&self, passed: &[(&KnownSchedule, Step)]) -> Result<Vec<bool>, BucketError> {
        let keys = &self.redis_bucket.keys;
        let mut call = SCRIPT.on(&[keys.next_ticks(), keys.schedule_states()]);
        for (schedule, step) in passed {
            call.arg(schedule.id.as_str()).arg(&schedule.state.version).arg(step.from);
            call.arg(tick_word(step.next)).arg(step.missed);
        }
        let passed: Vec<u8> = self.redis_bucket.store.run_durably(&call).await?;
        Ok(passed.into_iter().map(|passed| passed == 1).collect())
    }
}
