//! The tick of a schedule that a job is submitted for.

use crate::admission::Admission;
use crate::error::BucketError;
use crate::schedule::known_schedule::tick_word;
use crate::script::keys::Keys;
use crate::script::reply::Reply;
use dripfeed_job::schedule::ScheduleId;

/// The job is admitted only if this is the schedule's next tick, and is due.
#[derive(Clone, Debug)]
pub(crate) struct Tick {
    pub(crate) id: ScheduleId,
    /// The version of the definition.
    pub(crate) version: String,
    /// The schedule's next tick, as this process knows it.
    pub(crate) from: u64,
    /// The tick that the job is for: `from`, or a later one if ticks were missed.
    pub(crate) tick: u64,
    /// The tick after `tick`.
    pub(crate) next: Option<u64>,
    /// The number of ticks that get no job.
    pub(crate) missed: u64,
    pub(crate) may_overlap: bool,
}

/// The result of a tick.
#[derive(Clone, Debug)]
pub(crate) enum TickResult {
    Judged(Admission),
    /// The job of an earlier tick is still in the bucket.
    Overlapped,
    /// Another call was earlier, the schedule was changed, or the tick isn't due.
    Gone,
}

impl TickResult {
    /// Returns `None` if the answer is that to any submission.
    pub(crate) fn read(answer: &mut Reply) -> Result<Option<Self>, BucketError> {
        let refused = [("gone", Self::Gone), ("overlapped", Self::Overlapped)];
        let Some((_, ticked)) = refused.into_iter().find(|(word, _)| answer.begins_with(word)) else {
            return Ok(None);
        };
        answer.text()?;
        Ok(Some(ticked))
    }
}

/// The ticks as ticks.lua reads them. Adds the keys that it needs to `keys`.
pub(crate) fn pack<'t>(ticks: &[&'t Tick], own: &Keys, keys: &mut Vec<String>) -> String {
    keys.extend([own.schedule_states(), own.next_ticks()]);
    let words = |tick: &&'t Tick| {
        let Tick { id, version, from, tick, next, missed, may_overlap } = *tick;
        (id.as_str(), version, from, tick.to_string(), tick_word(*next), missed, may_overlap)
    };
    let ticks: Vec<_> = ticks.iter().map(words).collect();
    // Numbers and text always serialize. With `[]` the script would fail and admit nothing.
    serde_json::to_string(&(keys.len() - 1, keys.len(), ticks)).unwrap_or_else(|_| "[]".to_owned())
}
