//! Pauses and resumes a schedule.

use dripfeed_store::Script;
use redis::Value;

use super::known_schedule::{KnownSchedule, tick_word};
use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("switch_schedule", SHARED, include_str!("switch_schedule.lua"));

impl Bucket {
    /// Pauses or resumes a schedule. `next_ms`: its new next tick, `None` if it is paused or has none. Returns the
    /// schedule after this; `None` if it was changed since the caller read it, or doesn't exist.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn switch_schedule(
        &self,
        known: &KnownSchedule,
        paused: bool,
        next_ms: Option<u64>,
    ) -> Result<Option<KnownSchedule>, BucketError> {
        let keys = &self.redis_bucket.keys;
        let mut call = SCRIPT.on(&[keys.schedule_states(), keys.next_ticks()]);
        call.arg(known.id.as_str()).arg(&known.state.version).arg(u8::from(paused));
        call.arg(tick_word(next_ms)).arg(format!("{:016x}", fastrand::u64(..)));
        let mut reply = Reply::new("switch_schedule", self.redis_bucket.store.run_durably::<Value>(&call).await?)?;
        if reply.text()? != "switched" {
            return Ok(None);
        }
        let switched = KnownSchedule::answered(known.id.clone(), known.definition.clone(), &mut reply)?;
        self.note_schedules().await?;
        Ok(Some(switched))
    }
}
