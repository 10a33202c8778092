//! Defines a schedule.

use dripfeed_job::Submission;
use dripfeed_job::schedule::ScheduleId;
use dripfeed_store::Script;
use redis::Value;

use super::known_schedule::{KnownSchedule, tick_word};
use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("define_schedule", SHARED, include_str!("define_schedule.lua"));

/// A new definition.
#[derive(Clone, Debug)]
pub struct NewSchedule<'s> {
    pub id: &'s ScheduleId,
    /// The schedule as the caller knows it, `None` if it doesn't exist.
    pub known: Option<&'s KnownSchedule>,
    pub definition: &'s str,
    /// The job of each tick.
    pub job: &'s Submission,
    pub paused: bool,
    pub next: NextTick,
}

/// The next tick of a redefined schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextTick {
    Unchanged,
    At(u64),
    None,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefineScheduleResult {
    /// The schedule as this call has written it. Others may have changed it since.
    Done(Box<KnownSchedule>),
    /// It was changed concurrently; read it again.
    Changed,
    /// The bucket has its maximum number of schedules, or of their bytes.
    Full,
}

impl Bucket {
    /// Defines a schedule, or redefines it if it is still as the caller knows it.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; for a job that this kind of bucket can't do;
    /// when the bucket was deleted or created again over the API.
    pub async fn define_schedule(&self, new: &NewSchedule<'_>) -> Result<DefineScheduleResult, BucketError> {
        self.refuse(new.job)?;
        let (keys, settings) = (&self.redis_bucket.keys, self.settings());
        let places = [keys.schedules(), keys.next_ticks(), keys.schedule_states(), keys.tally(), keys.control()];
        let mut call = SCRIPT.on(&places);
        call.arg(new.id.as_str()).arg(new.known.map_or("", |known| known.state.version.as_str()));
        call.arg(format!("{:016x}", fastrand::u64(..))).arg(new.definition).arg(u8::from(new.paused));
        call.arg(match new.next {
            NextTick::Unchanged => String::new(),
            NextTick::At(ms) => tick_word(Some(ms)),
            NextTick::None => tick_word(None),
        });
        call.arg(settings.most_schedules).arg(settings.schedules_bytes).arg(self.redis_bucket.incarnation_word());
        // Intakes read only noted buckets, so a new schedule is noted before, too: the note after it may fail.
        if new.known.is_none() {
            self.note_schedules().await?;
        }
        let mut reply = Reply::new("define_schedule", self.redis_bucket.store.run_durably::<Value>(&call).await?)?;
        match reply.text()?.as_str() {
            "defined" => {
                let (id, definition) = (new.id.clone(), new.definition.to_owned());
                let defined = KnownSchedule::answered(id, definition, &mut reply)?;
                self.note_schedules().await?;
                Ok(DefineScheduleResult::Done(Box::new(defined)))
            }
            "changed" => Ok(DefineScheduleResult::Changed),
            "full" => Ok(DefineScheduleResult::Full),
            "gone" => {
                self.forget_schedules_if_none().await?;
                Err(BucketError::Gone)
            }
            word => reply.unknown(word),
        }
    }
}
