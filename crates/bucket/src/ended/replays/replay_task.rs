//! A background replay as stored in Redis: fields `<id>:<name>` of one hash of the bucket.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use dripfeed_job::{JobId, Rate};
use serde::{Deserialize, Serialize};

use crate::ended::dead_letters::DeadFilter;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReplayId(u64);

impl ReplayId {
    pub(super) fn random() -> Self {
        Self(fastrand::u64(..))
    }
}

impl fmt::Display for ReplayId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for ReplayId {
    type Err = ();

    /// Accepts only the form that `Display` writes.
    fn from_str(text: &str) -> Result<Self, ()> {
        let id = u64::from_str_radix(text, 16).map(Self).map_err(drop)?;
        if id.to_string() == text { Ok(id) } else { Err(()) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayState {
    Running,
    /// All letters that matched were handled.
    Done,
    Cancelled,
}

impl ReplayState {
    const ALL: [Self; 3] = [Self::Running, Self::Done, Self::Cancelled];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The parameters of a replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WantedReplay {
    pub(super) filter: DeadFilter,
    pub(super) rate: Option<Rate>,
    pub(super) key: Option<String>,
}

/// A background replay of all letters that matched when it was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayTask {
    pub id: ReplayId,
    pub filter: DeadFilter,
    /// `None`: as fast as the bucket has room.
    pub rate: Option<Rate>,
    /// The id of the API key that started it. `None` if no keys were configured.
    pub key: Option<String>,
    pub state: ReplayState,
    /// Letters that matched when it was started.
    pub total: u64,
    /// Letters that were submitted as new jobs.
    pub done: u64,
    /// Letters that stay, because their callers have used up their share of the capacity, or because they are larger
    /// than the capacity.
    pub left: u64,
    /// Ms since the epoch.
    pub started_ms: u64,
    pub ended_ms: Option<u64>,
    /// The newest letter when it was started. `None` if an earlier version started it.
    pub(super) newest: Option<JobId>,
    /// The last letter that was handled.
    pub(super) position: Option<String>,
}

impl ReplayTask {
    /// Letters that others replayed, deleted or dropped before this replay reached them. 0 until it is done.
    #[must_use]
    pub const fn gone(&self) -> u64 {
        match self.state {
            ReplayState::Done => self.total.saturating_sub(self.done).saturating_sub(self.left),
            ReplayState::Running | ReplayState::Cancelled => 0,
        }
    }

    /// Reads all replays of a bucket, latest first. Skips those that can't be parsed.
    pub(super) fn read_all(fields: &HashMap<String, String>) -> Vec<Self> {
        let ids = fields.keys().filter_map(|name| name.strip_suffix(":wanted")?.parse().ok());
        let mut tasks: Vec<Self> = ids.filter_map(|id| Self::read(id, fields)).collect();
        tasks.sort_by_key(|task| (std::cmp::Reverse(task.started_ms), task.id.to_string()));
        tasks
    }

    fn read(id: ReplayId, fields: &HashMap<String, String>) -> Option<Self> {
        let text = |name: &str| fields.get(&format!("{id}:{name}")).map(String::as_str);
        let number = |name: &str| text(name).and_then(|text| text.parse().ok());
        let WantedReplay { filter, rate, key } = serde_json::from_str(text("wanted")?).ok()?;
        Some(Self {
            id,
            filter,
            rate,
            key,
            state: ReplayState::ALL.into_iter().find(|state| Some(state.as_str()) == text("state"))?,
            total: number("total")?,
            done: number("done").unwrap_or(0),
            left: number("left").unwrap_or(0),
            started_ms: number("started")?,
            ended_ms: number("ended"),
            newest: text("newest").and_then(|id| id.parse().ok()),
            position: text("position").map(str::to_owned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_form() {
        let id = ReplayId(0xabc);
        assert_eq!(id.to_string(), "0000000000000abc");
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "abc", "0000000000000ABC", "+000000000000abc", "0000000000000abg", "00000000000000abc"] {
            assert_eq!(text.parse::<ReplayId>(), Err(()), "{text:?}");
        }
    }
}
