//! A background replay.

use dripfeed_job::LastStatus;
use jiff::Timestamp;
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Replay {
    pub(crate) id: String,
    pub(crate) state: String,
    pub(crate) rate: Option<String>,
    pub(crate) filter: Filter,
    pub(crate) total: u64,
    pub(crate) done: u64,
    pub(crate) failed: u64,
    /// Others replayed or deleted them.
    pub(crate) gone: u64,
    pub(crate) started_at: String,
    pub(crate) key: Option<String>,
}

/// The filter of the replayed letters.
#[derive(Deserialize)]
pub(crate) struct Filter {
    pub(crate) reason: Option<String>,
    #[serde(default)]
    pub(crate) exact_reason: bool,
    pub(crate) status: Option<LastStatus>,
    pub(crate) caller: Option<String>,
    /// Range of the times when the letters died.
    pub(crate) since: Option<Timestamp>,
    pub(crate) until: Option<Timestamp>,
}

impl Replay {
    pub(crate) fn is_running(&self) -> bool {
        self.state == "running"
    }
}
