//! The filter of jobs to show or to cancel.

use maud::{Markup, html};
use serde::Deserialize;

use crate::parts::listing;
use crate::web::form::Action;

#[derive(Clone, Default, Deserialize)]
pub(crate) struct JobsQuery {
    state: Option<String>,
    caller: Option<String>,
    older_than: Option<String>,
    cursor: Option<String>,
    /// Shows the job with this id instead.
    id: Option<String>,
    /// Shows the job with this idempotency key of the caller instead.
    key: Option<String>,
}

/// Trims a text. `None` if it is empty.
fn non_empty(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

impl JobsQuery {
    /// The filter in the fields of a form.
    pub(crate) fn of_action(action: &Action) -> Self {
        let wanted = |name| action.field(name).map(str::to_owned);
        let [state, caller, older_than] = ["state", "caller", "older_than"].map(wanted);
        Self { state, caller, older_than, ..Self::default() }
    }

    /// Empty for all states in the bucket.
    pub(crate) fn state(&self) -> &str {
        self.state.as_deref().unwrap_or_default()
    }

    pub(crate) fn caller(&self) -> Option<&str> {
        non_empty(self.caller.as_ref())
    }

    pub(crate) fn older_than(&self) -> Option<&str> {
        non_empty(self.older_than.as_ref())
    }

    pub(crate) fn id(&self) -> Option<&str> {
        non_empty(self.id.as_ref())
    }

    pub(crate) fn key(&self) -> Option<&str> {
        non_empty(self.key.as_ref())
    }

    pub(crate) fn is_first_page(&self) -> bool {
        self.cursor.is_none()
    }

    /// Whether it filters by more than a state.
    pub(crate) fn is_narrowed(&self) -> bool {
        self.caller().is_some() || self.older_than().is_some()
    }

    /// Whether it matches only waiting or parked jobs, and not all jobs.
    pub(crate) fn can_be_cancelled(&self) -> bool {
        match self.state() {
            "" => self.is_narrowed(),
            state => matches!(state, "waiting" | "parked"),
        }
    }

    /// The query of the API: the one job with the idempotency key, or a page of the list.
    pub(crate) fn of_api(&self, cursor: Option<&str>) -> String {
        match self.key() {
            key @ Some(_) => listing::query(&[("idempotency_key", key), ("caller", self.caller())]),
            None => self.page(cursor.or(self.cursor.as_deref())),
        }
    }

    /// The query of a page of the list.
    pub(crate) fn page(&self, cursor: Option<&str>) -> String {
        let [state, caller, older_than] = self.pairs();
        listing::query(&[state, caller, older_than, ("cursor", cursor)])
    }

    pub(crate) fn in_state(&self, state: &str) -> String {
        let [_, caller, older_than] = self.pairs();
        listing::query(&[("state", Some(state)), caller, older_than])
    }

    pub(crate) fn of_caller(&self, caller: &str) -> String {
        let [state, _, older_than] = self.pairs();
        listing::query(&[state, ("caller", Some(caller)), older_than])
    }

    /// The query of the page after a bulk cancel.
    pub(crate) fn after(&self, done: &str, count: u64) -> String {
        let [state, caller, older_than] = self.pairs();
        let count = count.to_string();
        listing::query(&[state, caller, older_than, ("done", Some(done)), ("count", Some(&count))])
    }

    fn pairs(&self) -> [(&'static str, Option<&str>); 3] {
        [("state", Some(self.state())), ("caller", self.caller()), ("older_than", self.older_than())]
    }

    /// The filter as hidden fields of a form.
    pub(crate) fn fields(&self) -> Markup {
        html! {
            @for (name, value) in self.pairs() { input type="hidden" name=(name) value=(value.unwrap_or_default()); }
        }
    }

    /// The filter as text: `waiting, of shop, older than 10m`. Empty for all jobs in the bucket.
    pub(crate) fn described(&self) -> String {
        let state = Some(self.state().replace('_', " ")).filter(|state| !state.is_empty());
        let caller = self.caller().map(|caller| format!("of {caller}"));
        let age = self.older_than().map(|age| format!("older than {age}"));
        [state, caller, age].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
