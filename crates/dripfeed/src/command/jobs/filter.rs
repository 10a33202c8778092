//! Selects jobs to list, export or cancel. The server validates the values.

use clap::Args;
use dripfeed_job::JobState;

#[derive(Args, Clone, Debug)]
pub(super) struct FilterArgs {
    /// Only jobs in this state: waiting, in_flight, parked, delivered, dead, expired or cancelled [default: all in the
    /// bucket]
    #[arg(long)]
    state: Option<JobState>,
    /// Only jobs of this caller
    #[arg(long)]
    caller: Option<String>,
    /// Only jobs that were accepted at least this long ago, such as 10m
    #[arg(long, value_name = "DURATION")]
    older_than: Option<String>,
    /// Only jobs that were accepted at or after this time, such as 2030-01-01T12:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only jobs that were accepted at or before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

impl FilterArgs {
    /// Takes values that aren't set from `other`.
    pub(super) fn or(&self, other: &Self) -> Self {
        Self {
            state: self.state.or(other.state),
            caller: self.caller.clone().or_else(|| other.caller.clone()),
            older_than: self.older_than.clone().or_else(|| other.older_than.clone()),
            since: self.since.clone().or_else(|| other.since.clone()),
            until: self.until.clone().or_else(|| other.until.clone()),
        }
    }

    /// Returns whether there are filters that can't be combined with an idempotency key.
    pub(super) fn has_more_than_caller(&self) -> bool {
        self.pairs().iter().any(|(name, _)| *name != "caller")
    }

    pub(super) fn pairs(&self) -> Vec<(&'static str, String)> {
        let state = self.state.map(|state| state.to_string());
        let all = [
            ("state", state),
            ("caller", self.caller.clone()),
            ("older_than", self.older_than.clone()),
            ("since", self.since.clone()),
            ("until", self.until.clone()),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
