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
    /// Shows that job instead,
    id: Option<String>,
    /// or the one that this idempotency key of the caller names.
    key: Option<String>,
}

/// Without spaces around it; None: empty.
fn given(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

impl JobsQuery {
    /// Of the fields of a form.
    pub(crate) fn of_action(action: &Action) -> Self {
        let wanted = |name| action.field(name).map(str::to_owned);
        let [state, caller, older_than] = ["state", "caller", "older_than"].map(wanted);
        Self { state, caller, older_than, ..Self::default() }
    }

    /// Empty: all in the bucket.
    pub(crate) fn state(&self) -> &str {
        self.state.as_deref().unwrap_or_default()
    }

    pub(crate) fn caller(&self) -> Option<&str> {
        given(self.caller.as_ref())
    }

    pub(crate) fn older_than(&self) -> Option<&str> {
        given(self.older_than.as_ref())
    }

    pub(crate) fn id(&self) -> Option<&str> {
        given(self.id.as_ref())
    }

    pub(crate) fn key(&self) -> Option<&str> {
        given(self.key.as_ref())
    }

    pub(crate) fn is_first_page(&self) -> bool {
        self.cursor.is_none()
    }

    /// By more than a state.
    pub(crate) fn is_narrowed(&self) -> bool {
        self.caller().is_some() || self.older_than().is_some()
    }

    /// Whether it names waiting or parked jobs, and not all of them.
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

    /// Of a page of the list.
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

    /// Of the page that comes after a bulk cancel.
    pub(crate) fn after(&self, done: &str, count: u64) -> String {
        let [state, caller, older_than] = self.pairs();
        let count = count.to_string();
        listing::query(&[state, caller, older_than, ("done", Some(done)), ("count", Some(&count))])
    }

    fn pairs(&self) -> [(&'static str, Option<&str>); 3] {
        [("state", Some(self.state())), ("caller", self.caller()), ("older_than", self.older_than())]
    }

    /// As fields of a form.
    pub(crate) fn fields(&self) -> Markup {
        html! {
            @for (name, value) in self.pairs() { input type="hidden" name=(name) value=(value.unwrap_or_default()); }
        }
    }

    /// `waiting, of shop, older than 10m`. Empty: all jobs in the bucket.
    pub(crate) fn described(&self) -> String {
        let state = Some(self.state().replace('_', " ")).filter(|state| !state.is_empty());
        let caller = self.caller().map(|caller| format!("of {caller}"));
        let age = self.older_than().map(|age| format!("older than {age}"));
        [state, caller, age].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}
