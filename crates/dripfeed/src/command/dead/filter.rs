//! Selects dead letters to list, export, replay or delete. The server validates the values.

use clap::Args;
use dripfeed_client::escaped;
use dripfeed_job::{LastStatus, Rate};
use serde_json::{Value as Json, json};

#[derive(Args, Debug, Default)]
pub(super) struct FilterArgs {
    /// Only letters whose reason contains this text
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Only letters whose reason is exactly the text of --reason
    #[arg(long, requires = "reason")]
    exact_reason: bool,
    /// Only letters with this last status of the upstream, such as 410; none: no answer came
    #[arg(long)]
    status: Option<LastStatus>,
    /// Only letters of this caller
    #[arg(long)]
    caller: Option<String>,
    /// Only letters of jobs that died at or after this time, such as 2030-01-01T12:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only letters of jobs that died at or before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

impl FilterArgs {
    pub(super) fn pairs(&self) -> Vec<(&'static str, String)> {
        let status = self.status.map(|status| status.to_string());
        let exact_reason = self.exact_reason.then(|| "true".to_owned());
        let all = [
            ("reason", self.reason.clone()),
            ("exact_reason", exact_reason),
            ("status", status),
            ("caller", self.caller.clone()),
            ("since", self.since.clone()),
            ("until", self.until.clone()),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// Returns the filters as a query string.
    pub(super) fn query(&self) -> String {
        let pairs = self.pairs();
        let pairs = pairs.iter().map(|(name, value)| format!("{name}={}", escaped(value)));
        pairs.collect::<Vec<_>>().join("&")
    }

    pub(super) fn document(&self, rate: Option<Rate>) -> Json {
        let mut document = json!({
            "reason": self.reason, "exact_reason": self.exact_reason.then_some(true), "status": self.status,
            "caller": self.caller, "since": self.since, "until": self.until, "rate": rate,
        });
        if let Json::Object(members) = &mut document {
            members.retain(|_, value| !value.is_null());
        }
        document
    }
}
