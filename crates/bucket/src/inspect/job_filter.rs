//! Which jobs to list or to cancel.

use std::time::Duration;

use dripfeed_job::JobState;
use dripfeed_job::duration::ms_up;

/// Jobs must match all given members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    /// Only waiting and parked jobs can be cancelled.
    pub state: Option<JobState>,
    pub caller: Option<String>,
    /// Since the admission.
    pub older_than: Option<Duration>,
}

impl JobFilter {
    #[must_use]
    pub fn of_state(state: JobState) -> Self {
        Self { state: Some(state), ..Self::default() }
    }

    pub(crate) fn allows(&self, state: JobState) -> bool {
        self.state.is_none_or(|wanted| wanted == state)
    }

    /// For scripts: the caller, '' for all.
    pub(crate) fn caller_arg(&self) -> &str {
        self.caller.as_deref().unwrap_or_default()
    }

    /// For scripts: ms since the admission at least, '' for all.
    pub(crate) fn age_arg(&self) -> String {
        self.older_than.map_or_else(String::new, |age| ms_up(age).to_string())
    }

    pub(crate) fn is_of(&self, caller: Option<&str>) -> bool {
        self.caller.is_none() || self.caller.as_deref() == caller
    }
}
