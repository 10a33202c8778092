//! Bulk cancel: a form on the page of jobs, and its action.

use axum::extract::{Path, State};
use axum::response::Response;
use http::Method;
use maud::{Markup, html};
use serde_json::Value;

use crate::dashboard::Dashboard;
use crate::model::job::Cancelled;
use crate::pages::done::after;
use crate::pages::jobs::jobs_query::JobsQuery;
use crate::parts::action;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

/// The form to cancel the jobs of the page's filter.
pub(crate) fn form(visitor: &Visitor, name: &str, path: &str, wanted: &JobsQuery) -> Markup {
    let fields = html! {
        p {
            "Permanently cancels all waiting and parked jobs that match: " strong { (wanted.described()) }
            ". Jobs in flight continue."
        }
        (wanted.fields())
    };
    html! {
        @if wanted.can_be_cancelled() {
            (action::confirmed_with(visitor, &format!("{path}/cancel"), "Cancel all that match…", name, &fields))
        }
    }
}

pub(crate) async fn cancel(State(page): State<Dashboard>, Path(name): Path<String>, action: Action) -> Response {
    after(&action.visitor, cancelled(&page, &action, &name).await)
}

async fn cancelled(page: &Dashboard, action: &Action, name: &str) -> Result<String, Failure> {
    action.confirms(name)?;
    let path = format!("/buckets/{}/jobs", escaped(name));
    let filter = Value::Object(action.members(&["state", "caller", "older_than"]));
    let body = page.api().call(&action.visitor, Method::POST, &format!("/v1{path}/cancel"), Some(&filter)).await?;
    let Cancelled { cancelled } = serde_json::from_slice(&body).map_err(|_| Failure::unreadable())?;
    Ok(format!("{path}{}", JobsQuery::of_action(action).after("purged", cancelled)))
}
