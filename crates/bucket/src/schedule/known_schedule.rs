//! A schedule as stored in Redis.

use dripfeed_job::JobId;
use dripfeed_job::schedule::ScheduleId;

use crate::admission::RefusalReason;
use crate::error::BucketError;
use crate::script::reply::Reply;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownSchedule {
    pub id: ScheduleId,
    /// The definition as it was written to Redis.
    pub definition: String,
    pub state: ScheduleState,
    /// The next tick in ms, Redis clock. `None` while the schedule is paused, and after its last tick.
    pub next_ms: Option<u64>,
}

/// The state of its ticks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleState {
    /// Changes with each definition, pause and resume.
    pub version: String,
    pub paused: bool,
    /// The last tick that was submitted, in ms, and its job.
    pub last: Option<(u64, JobId)>,
    /// Ticks that were not submitted: too many at once, too late, or refused until the next one.
    pub missed: u64,
    /// Ticks that were skipped because the job of an earlier one was still in the bucket.
    pub overlapped: u64,
    /// Why the due tick isn't submitted yet.
    pub reason: Option<RefusalReason>,
}

impl ScheduleState {
    /// Parses the text that schedule_state.lua writes. Returns `None` for any other text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let [version, paused, last, job, missed, overlapped, reason] = words[..] else { return None };
        Some(Self {
            version: version.to_owned(),
            paused: paused == "1",
            last: last.parse().ok().zip(job.parse().ok()),
            missed: missed.parse().ok()?,
            overlapped: overlapped.parse().ok()?,
            reason: RefusalReason::ALL.into_iter().find(|known| known.word() == reason),
        })
    }
}

impl KnownSchedule {
    /// Returns `None` for an entry that isn't a schedule, but was written by hand.
    pub(crate) fn read(id: &str, definition: String, state: &str, next_ms: i64) -> Option<Self> {
        if definition.is_empty() {
            return None;
        }
        let (id, state) = (id.parse().ok()?, ScheduleState::parse(state)?);
        Some(Self { id, definition, state, next_ms: u64::try_from(next_ms).ok() })
    }

    /// Reads the answer of a script that has changed the schedule: its state and its next tick.
    pub(crate) fn answered(id: ScheduleId, definition: String, reply: &mut Reply) -> Result<Self, BucketError> {
        let (text, next_ms) = (reply.text()?, reply.number()?);
        let Some(state) = ScheduleState::parse(&text) else { return reply.unknown(&text) };
        Ok(Self { id, definition, state, next_ms: u64::try_from(next_ms).ok() })
    }
}

/// A next tick as an argument of a script.
pub(crate) fn tick_word(next_ms: Option<u64>) -> String {
    next_ms.map_or_else(|| "-1".to_owned(), |ms| ms.to_string())
}
