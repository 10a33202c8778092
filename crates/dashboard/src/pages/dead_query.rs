//! The filter of dead letters to show, replay, delete or export.

use dripfeed_job::LastStatus;
use maud::{Markup, html};
use serde::Deserialize;

use crate::parts::{listing, replays};
use crate::web::form::Action;

#[derive(Clone, Default, Deserialize)]
pub(crate) struct DeadQuery {
    pub(crate) reason: Option<String>,
    pub(crate) exact_reason: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) caller: Option<String>,
    pub(crate) cursor: Option<String>,
    /// Shows the letter with this id instead.
    id: Option<String>,
}

impl DeadQuery {
    pub(crate) fn pairs(&self) -> [(&'static str, Option<&str>); 4] {
        [
            ("reason", self.reason.as_deref()),
            ("exact_reason", self.exact_reason.as_deref()),
            ("status", self.status.as_deref()),
            ("caller", self.caller.as_deref()),
        ]
    }

    /// The query of a page of the list.
    pub(crate) fn page(&self, cursor: Option<&str>) -> String {
        let [reason, exact_reason, status, caller] = self.pairs();
        listing::query(&[reason, exact_reason, status, caller, ("cursor", cursor)])
    }

    /// The query of this page of the list.
    pub(crate) fn of_page(&self) -> String {
        self.page(self.cursor.as_deref())
    }

    /// The query of the page after an action on these letters.
    pub(crate) fn after(&self, done: &str, count: Option<u64>) -> String {
        let [reason, exact_reason, status, caller] = self.pairs();
        let count = count.map(|count| count.to_string());
        listing::query(&[reason, exact_reason, status, caller, ("done", Some(done)), ("count", count.as_deref())])
    }

    /// The filter for these letters with one reason and status.
    pub(crate) fn group(&self, reason: &str, status: LastStatus) -> Self {
        Self {
            reason: Some(reason.to_owned()),
            exact_reason: Some("true".to_owned()),
            status: Some(status.to_string()),
            caller: self.caller.clone(),
            ..Self::default()
        }
    }

    /// The filter in the fields of a form.
    pub(crate) fn of_action(action: &Action) -> Self {
        let wanted = |name| action.field(name).map(str::to_owned);
        let [reason, exact_reason, status, caller] = ["reason", "exact_reason", "status", "caller"].map(wanted);
        Self { reason, exact_reason, status, caller, ..Self::default() }
    }

    pub(crate) fn id(&self) -> Option<&str> {
        self.id.as_deref().map(str::trim).filter(|id| !id.is_empty())
    }

    /// The query for these letters of one caller.
    pub(crate) fn of_caller(&self, caller: &str) -> String {
        Self { caller: Some(caller.to_owned()), cursor: None, ..self.clone() }.page(None)
    }

    /// The filter as text: `status 410, the reason “gone”, of shop`. Empty for all letters.
    pub(crate) fn described(&self) -> String {
        let non_empty = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let reason = replays::reason(self.reason.as_deref(), self.exact_reason.as_deref() == Some("true"));
        let status = non_empty(&self.status)
            .map(|text| text.parse().map_or_else(|_| format!("status {text}"), LastStatus::described));
        let caller = non_empty(&self.caller).map(|caller| format!("of {caller}"));
        [status, reason, caller].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn is_filtered(&self) -> bool {
        self.pairs().iter().any(|(_, value)| value.is_some_and(|value| !value.is_empty()))
    }

    /// The filter as hidden fields of a form.
    pub(crate) fn fields(&self) -> Markup {
        html! {
            @for (name, value) in self.pairs() { input type="hidden" name=(name) value=(value.unwrap_or_default()); }
        }
    }
}
