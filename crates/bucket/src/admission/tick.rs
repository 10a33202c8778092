//! The tick of a schedule that a job is submitted for.

use dripfeed_job::schedule::ScheduleId;
use serde_json::json;

use crate::admission::Admission;
use crate::error::BucketError;
use crate::script::keys::Keys;
use crate::script::reply::Reply;

/// While it is the next one of its schedule, and has come, the job may be admitted.
#[derive(Clone, Debug)]
pub(crate) struct Tick {
    pub(crate) id: ScheduleId,
    /// Of the definition.
    pub(crate) version: String,
    /// What is the schedule's next tick.
    pub(crate) from: u64,
    /// The one that the job is for: that, or a later one.
    pub(crate) tick: u64,
    pub(crate) next: Option<u64>,
    /// Ticks that get no job.
    pub(crate) missed: u64,
    pub(crate) may_overlap: bool,
}

/// The result of a tick.
#[derive(Clone, Debug)]
pub(crate) enum Ticked {
    Judged(Admission),
    /// The job of an earlier tick is still in the bucket.
    Overlapped,
    /// Another call was earlier, the schedule was changed, or the tick isn't due.
    Gone,
}

impl Ticked {
    /// None: it was judged as any submission.
    pub(crate) fn read(answer: &mut Reply) -> Result<Option<Self>, BucketError> {
        let refused = [("gone", Self::Gone), ("overlapped", Self::Overlapped)];
        let Some((_, ticked)) = refused.into_iter().find(|(word, _)| answer.begins_with(word)) else {
            return Ok(None);
        };
        answer.text()?;
        Ok(Some(ticked))
    }
}

/// As ticks.lua reads them; empty: the jobs are for none. Adds the keys that it needs to `keys`.
pub(crate) fn pack<'t>(ticks: impl Iterator<Item = &'t Tick>, own: &Keys, keys: &mut Vec<String>) -> String {
    let mut ticks = ticks.peekable();
    if ticks.peek().is_none() {
        return String::new();
    }
    keys.extend([own.schedule_states(), own.next_ticks()]);
    let mut packed = vec![json!([keys.len() - 1, keys.len()])];
    packed.extend(ticks.map(|tick| {
        let next = tick.next.map_or(json!(-1), |next| json!(next));
        json!([tick.id.as_str(), tick.version, tick.from, tick.tick, next, tick.missed, tick.may_overlap])
    }));
    serde_json::Value::from(packed).to_string()
}
