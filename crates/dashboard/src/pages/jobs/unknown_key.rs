//! What the page says when no job has the idempotency key.

use maud::{Markup, html};

use super::jobs_query::JobsQuery;
use crate::web::identity::Visitor;

/// Each caller has separate keys, so another caller may have a job with this one.
pub(super) fn message(visitor: &Visitor, wanted: &JobsQuery) -> Markup {
    let own = visitor.permissions.id.as_deref();
    html! {
        p {
            "No job "
            @if let Some(caller) = wanted.caller().or(own) { "of " (caller) " " }
            "has this idempotency key."
            @if own.is_some() && wanted.caller().is_none() && visitor.may("operate") {
                " Each caller has separate keys: to find a job of another one, name the caller, too."
            }
        }
    }
}
