//! The result of an action, shown once on the next page.

use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;

use crate::parts::{layout, numbers};
use crate::web::answer;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

/// The result of the action in the query of the next page.
#[derive(Default, Deserialize)]
pub(crate) struct Done {
    done: Option<String>,
    count: Option<u64>,
}

impl Done {
    /// Shows fixed texts with numbers of the query, but no texts of the query, which anyone may put into a link.
    pub(crate) fn show(&self) -> Markup {
        self.show_of("")
    }

    /// As [`Done::show`], after an action on the jobs or letters of a filter. Empty if it was on all.
    pub(crate) fn show_of(&self, filter: &str) -> Markup {
        let count = self.count.unwrap_or(0);
        let of = if filter.is_empty() { String::new() } else { format!(": {filter}") };
        let text = match self.done.as_deref() {
            Some("paused") => "Paused. Nothing is called until it is resumed.".to_owned(),
            Some("resumed") => "Resumed.".to_owned(),
            Some("changed") => "Changed. It applies at once, also to queued jobs.".to_owned(),
            Some("purged") => {
                format!("Cancelled {}{of}. Jobs in flight continue.", numbers::pluralize(count, "job", "jobs"))
            }
            Some("cancelled") => "Cancelled.".to_owned(),
            Some("schedule-paused") => {
                "Paused the schedule. Its ticks aren't submitted, and not later either.".to_owned()
            }
            Some("schedule-resumed") => "Resumed the schedule, with its next tick.".to_owned(),
            Some("run") => "Submitted the job of the schedule.".to_owned(),
            Some("replayed") => format!("Replayed {count}: each is a new job now."),
            Some("replaying") => format!("The replay has started{of}. It continues when you leave this page."),
            Some("stopped") => "The replay has stopped. Letters that it hasn't replayed stay.".to_owned(),
            Some("deleted") => format!("Deleted {count}{of}."),
            _ => return html! {},
        };
        html! { p.done role="status" { span aria-hidden="true" { "✓ " } (text) } }
    }
}

/// Redirects to the next page, or shows why the action failed.
pub(crate) fn after(visitor: &Visitor, result: Result<String, Failure>) -> Response {
    match result {
        Ok(next) => answer::see_other(&next),
        Err(failure) => layout::failed(Some(visitor), &failure),
    }
}
