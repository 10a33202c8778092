//! `/buckets/{b}/jobs/{id}`: one job and its outcome.

pub(crate) mod live;
mod own_letter;
mod timeline;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::{Method, StatusCode};
use maud::{Markup, html};

use self::timeline::timeline;
use crate::dashboard::Dashboard;
use crate::model::job::{Job, Outcome};
use crate::pages::done::{Done, after};
use crate::parts::layout::{self, Page};
use crate::parts::payload::{self, Payload, request};
use crate::parts::{action, listing, numbers};
use crate::web::answer::see_other;
use crate::web::api::escaped;
use crate::web::form::Action;
use crate::web::identity::Visitor;

/// The ids of parts of the page.
const ACTIONS: &str = "job-actions";
const CONTENT: &str = "job-content";

pub(crate) async fn show(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Path((name, id)): Path<(String, String)>,
    Query(done): Query<Done>,
) -> Response {
    // The payload may be large, so it is only requested if it is shown.
    let payload = if visitor.may("inspect") { "?payload=true" } else { "" };
    let path = format!("/v1/buckets/{}/jobs/{}{payload}", escaped(&name), escaped(&id));
    match page.api().get::<Job>(&visitor, &path).await {
        Ok(job) => {
            let payload = job.payload.map(|payload| request::masked(page.redaction(), payload));
            let job = Job { payload, ..job };
            let body = html! {
                (listing::heading(&name, &html! { "Job " code { (job.id) } }, "/jobs"))
                (done.show())
                (timeline(&page, &visitor, &name, &job).await)
                (actions(&visitor, &name, &job))
                (content(&page, &visitor, &name, &job))
            };
            let live = format!("/live/buckets/{}/jobs/{}", escaped(&name), escaped(&id));
            layout::show(&visitor, &Page { title: &format!("Job {id}"), section: "/", live: Some(&live), body })
        }
        Err(failure) if failure.status == StatusCode::NOT_FOUND => {
            let letter = own_letter::path(&page, &visitor, &name, &id).await;
            letter.map_or_else(|| layout::failed(Some(&visitor), &failure), |path| see_other(&path))
        }
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

fn actions(visitor: &Visitor, name: &str, job: &Job) -> Markup {
    let can_be_cancelled = matches!(job.state.as_str(), "waiting" | "parked");
    html! {
        div id=(ACTIONS) {
            @if can_be_cancelled && visitor.may("operate") {
                @let path = format!("/buckets/{name}/jobs/{}/cancel", job.id);
                div.actions { (action::button(visitor, &path, "Cancel the job")) }
            }
        }
    }
}

/// The request to the upstream, and the answer after the job has ended.
fn content(page: &Dashboard, visitor: &Visitor, name: &str, job: &Job) -> Markup {
    html! {
        div id=(CONTENT) data-calm {
            @match &job.outcome {
                Some(outcome) => (answer(page, visitor, outcome)),
                None => (request::section(page.redaction(), visitor, name, job.payload.as_ref())),
            }
        }
    }
}

/// The upstream's last answer.
pub(crate) fn answer(page: &Dashboard, visitor: &Visitor, outcome: &Outcome) -> Markup {
    html! {
        section.card {
            h2 { "Upstream response" }
            p {
                @match outcome.status { Some(status) => { "status " strong { (status) } }, None => "no answer came" }
                ", after " (numbers::attempts(outcome.attempts))
            }
            @if visitor.may("inspect") {
                (payload::of(page.redaction(), &Payload {
                    text: outcome.body.as_deref(),
                    is_base64: outcome.base64,
                    content_type: outcome.content_type.as_deref(),
                    truncated: outcome.truncated,
                }))
            } @else { (payload::hidden()) }
        }
    }
}

pub(crate) async fn cancel(
    State(page): State<Dashboard>,
    Path((name, id)): Path<(String, String)>,
    action: Action,
) -> Response {
    let path = format!("/buckets/{}/jobs/{}", escaped(&name), escaped(&id));
    let cancelled = page.api().call(&action.visitor, Method::DELETE, &format!("/v1{path}"), None).await;
    after(&action.visitor, cancelled.map(|_| format!("{path}?done=cancelled")))
}
