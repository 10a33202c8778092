//! The filter for jobs to list or to cancel.

use std::time::Duration;

use dripfeed_job::duration::ms_up;
use dripfeed_job::{JobId, JobState};

/// A window of time from `since_ms` to `until_ms`, both inclusive, in ms since the epoch. `None`: unbounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeWindow {
    pub since_ms: Option<u64>,
    pub until_ms: Option<u64>,
}

impl TimeWindow {
    /// For scripts: its first ms, '' for all.
    pub(crate) fn since_arg(self) -> String {
        self.since_ms.map_or_else(String::new, |since| since.to_string())
    }

    /// For scripts: its last ms, '' for all.
    pub(crate) fn until_arg(self) -> String {
        self.until_ms.map_or_else(String::new, |until| until.to_string())
    }
}

/// The largest second part of an id: in streams it counts the jobs of one ms, in lists it has at most 15 digits.
const LAST_OF_MS: u64 = 999_999_999_999_999;

/// Jobs match if they match all members that are set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Only waiting and parked jobs can be cancelled.
    pub state: Option<JobState>,
    pub caller: Option<String>,
    /// The minimum time since the admission.
    pub older_than: Option<Duration>,
    /// The time of the admission.
    pub accepted: TimeWindow,
}

impl JobFilter {
    #[must_use]
    pub fn of_state(state: JobState) -> Self {
        Self { state: Some(state), ..Self::default() }
    }

    /// Returns whether only the caller is set, or nothing.
    #[must_use]
    pub fn is_of_callers_alone(&self) -> bool {
        Self { caller: None, ..self.clone() } == Self::default()
    }

    pub(crate) fn allows(&self, state: JobState) -> bool {
        self.state.is_none_or(|wanted| wanted == state)
    }

    /// For scripts: the caller, '' for all.
    pub(crate) fn caller_arg(&self) -> &str {
        self.caller.as_deref().unwrap_or_default()
    }

    /// For scripts: the minimum ms since the admission, '' for all.
    pub(crate) fn age_arg(&self) -> String {
        self.older_than.map_or_else(String::new, |age| ms_up(age).to_string())
    }

    /// The last id before the window of time.
    pub(crate) fn after(&self) -> Option<JobId> {
        let too_old = self.accepted.since_ms?.checked_sub(1)?;
        Some(JobId::new(too_old, LAST_OF_MS))
    }

    /// For scripts: the id after which to begin, '' for the first.
    pub(crate) fn after_arg(&self) -> String {
        self.after().map_or_else(String::new, |id| id.to_string())
    }

    pub(crate) fn is_of(&self, caller: Option<&str>) -> bool {
        self.caller.is_none() || self.caller.as_deref() == caller
    }
}
