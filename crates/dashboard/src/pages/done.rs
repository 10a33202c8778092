//! The result of an action, shown once on the next page.

use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;

use crate::parts::layout;
use crate::web::answer;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

/// In the query of the page that comes after.
#[derive(Default, Deserialize)]
pub(crate) struct Done {
    done: Option<String>,
    count: Option<u64>,
}

impl Done {
    /// Nothing that a link brings is shown, but numbers.
    pub(crate) fn show(&self) -> Markup {
        let count = self.count.unwrap_or(0);
        let text = match self.done.as_deref() {
            Some("paused") => "Paused. Nothing is called until it is resumed.".to_owned(),
            Some("resumed") => "Resumed.".to_owned(),
            Some("changed") => "Changed. It applies at once, also to queued jobs.".to_owned(),
            Some("purged") => format!("Cancelled {count} jobs. Jobs in flight continue."),
            Some("cancelled") => "Cancelled.".to_owned(),
            Some("replayed") => format!("Replayed {count}: each is a new job now."),
            Some("replaying") => "The replay has started. It continues when you leave this page.".to_owned(),
            Some("stopped") => "The replay has stopped. Letters that it hasn't replayed stay.".to_owned(),
            Some("deleted") => format!("Deleted {count}."),
            _ => return html! {},
        };
        html! { p.done role="status" { span aria-hidden="true" { "✓ " } (text) } }
    }
}

/// Shows the next page, or why nothing was done.
pub(crate) fn after(visitor: &Visitor, result: Result<String, Failure>) -> Response {
    match result {
        Ok(next) => answer::see_other(&next),
        Err(failure) => layout::failed(Some(visitor), &failure),
    }
}
