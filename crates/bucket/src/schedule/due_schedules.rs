//! Finds due ticks.

use dripfeed_store::Script;
use redis::Value;

use super::known_schedule::KnownSchedule;
use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::constants::BATCH_JOBS;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("due_schedules", SHARED, include_str!("due_schedules.lua"));

#[derive(Clone, Debug)]
pub struct DueSchedules {
    /// Ms since the epoch, Redis clock.
    pub now_ms: u64,
    /// The first tick that isn't due, in ms. `None` if there are no further ticks.
    pub next_ms: Option<u64>,
    /// The schedules with a due tick, earliest tick first; at most as many as go into one script.
    pub due: Vec<KnownSchedule>,
    /// The number of schedules that can't be parsed.
    pub unreadable: usize,
}

impl Bucket {
    /// Returns the due schedules, without the first `after` of them.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn due_schedules(&self, after: usize) -> Result<DueSchedules, BucketError> {
        let keys = &self.redis_bucket.keys;
        let mut call = SCRIPT.on(&[keys.next_ticks(), keys.schedules(), keys.schedule_states(), keys.tally()]);
        call.arg(after).arg(BATCH_JOBS);
        let mut reply = Reply::new("due_schedules", self.redis_bucket.store.run::<Value>(&call).await?)?;
        let (now_ms, next_ms) = (reply.count()?, u64::try_from(reply.number()?).ok());
        let mut found = DueSchedules { now_ms, next_ms, due: Vec::new(), unreadable: 0 };
        while !reply.is_empty() {
            let (id, tick, state, definition) = (reply.shown()?, reply.number()?, reply.shown()?, reply.text()?);
            match KnownSchedule::read(&id, definition, &state, tick) {
                Some(schedule) => found.due.push(schedule),
                None => found.unreadable += 1,
            }
        }
        Ok(found)
    }
}
