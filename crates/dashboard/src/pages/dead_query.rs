//! The filter of dead letters to show, replay, delete or export.

use maud::{Markup, html};
use serde::Deserialize;

use crate::parts::listing;

#[derive(Clone, Default, Deserialize)]
pub(crate) struct DeadQuery {
    pub(crate) reason: Option<String>,
    pub(crate) exact_reason: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) caller: Option<String>,
    pub(crate) cursor: Option<String>,
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

    /// Of a page of the list.
    pub(crate) fn page(&self, cursor: Option<&str>) -> String {
        let [reason, exact_reason, status, caller] = self.pairs();
        listing::query(&[reason, exact_reason, status, caller, ("cursor", cursor)])
    }

    /// All letters of one reason and status.
    pub(crate) fn group(reason: &str, status: Option<&str>) -> Self {
        Self {
            reason: Some(reason.to_owned()),
            exact_reason: Some("true".to_owned()),
            status: status.map(str::to_owned),
            ..Self::default()
        }
    }

    pub(crate) fn is_filtered(&self) -> bool {
        self.pairs().iter().any(|(_, value)| value.is_some_and(|value| !value.is_empty()))
    }

    /// As fields of a form.
    pub(crate) fn fields(&self) -> Markup {
        html! {
            @for (name, value) in self.pairs() { input type="hidden" name=(name) value=(value.unwrap_or_default()); }
        }
    }
}
