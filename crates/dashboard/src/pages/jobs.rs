//! `/buckets/{b}/jobs`: jobs by state.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;

use crate::dashboard::Dashboard;
use crate::model::List;
use crate::model::job::Job;
use crate::pages::cancel_many;
use crate::pages::done::Done;
use crate::parts::layout::{self, Page};
use crate::parts::{listing, numbers, teach, when};
use crate::web::answer;
use crate::web::api::escaped;
use crate::web::identity::Visitor;

const STATES: [(&str, &str); 8] = [
    ("", "in the bucket"),
    ("waiting", "waiting"),
    ("in_flight", "in flight"),
    ("parked", "parked"),
    ("delivered", "delivered"),
    ("dead", "dead"),
    ("expired", "expired"),
    ("cancelled", "cancelled"),
];

#[derive(Default, Deserialize)]
pub(crate) struct JobsQuery {
    state: Option<String>,
    cursor: Option<String>,
    /// Shows that job instead,
    id: Option<String>,
    /// or the one that this idempotency key names.
    key: Option<String>,
    /// Whose key it is.
    caller: Option<String>,
}

pub(crate) async fn show(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Path(name): Path<String>,
    Query(wanted): Query<JobsQuery>,
    Query(done): Query<Done>,
) -> Response {
    let path = format!("/buckets/{}/jobs", escaped(&name));
    if let Some(id) = wanted.id.as_deref().map(str::trim).filter(|id| !id.is_empty()) {
        return answer::see_other(&format!("{path}/{}", escaped(id)));
    }
    let key = wanted.key.as_deref().map(str::trim).filter(|key| !key.is_empty());
    let query = match key {
        Some(_) => listing::query(&[("idempotency_key", key), ("caller", wanted.caller.as_deref())]),
        None => listing::query(&[("state", wanted.state.as_deref()), ("cursor", wanted.cursor.as_deref())]),
    };
    match page.api().get::<List<Job>>(&visitor, &format!("/v1{path}{query}")).await {
        Ok(List { items, .. }) if key.is_some() && !items.is_empty() => {
            answer::see_other(&format!("{path}/{}", items[0].id))
        }
        Ok(jobs) => {
            let teach = teach::submit(&visitor, &name);
            let state = wanted.state.as_deref().unwrap_or_default();
            let body = html! {
                (listing::heading(&name, &html! { "Jobs" }, "/jobs"))
                (done.show())
                (find_forms(&visitor, &path))
                @if key.is_some() { section.state { p { "No job has this idempotency key." } } }
                @else {
                    div.toolbar {
                        (states(&path, state))
                        @if visitor.may("operate") { (cancel_many::form(&visitor, &name, &path, state)) }
                    }
                    (list(&path, state, &jobs, &teach))
                }
            };
            layout::show(&visitor, &Page { title: &format!("Jobs of {name}"), section: "/", live: None, body })
        }
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

fn states(path: &str, state: &str) -> Markup {
    html! {
        nav.chips aria-label="State" {
            @for (value, label) in STATES {
                @let query = listing::query(&[("state", Some(value))]);
                a href={ (path) (query) } aria-current=[(value == state).then_some("page")] { (label) }
            }
        }
    }
}

fn list(path: &str, state: &str, jobs: &List<Job>, teach: &Markup) -> Markup {
    let shown = numbers::counted(jobs.items.len() as u64, "job", "jobs");
    let next = jobs.next.as_deref().map(|next| listing::query(&[("state", Some(state)), ("cursor", Some(next))]));
    html! {
        @if jobs.items.is_empty() {
            section.state {
                @let label = STATES.iter().find(|(value, _)| *value == state).map_or("there", |(_, label)| label);
                p { "No job is " (label) @if state.is_empty() { " now" } ". Submit one:" }
                (teach)
            }
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Jobs" { table {
                (listing::head(&["id", "state", "accepted", "due", "#attempts", "caller", "end"]))
                tbody { @for job in &jobs.items { (row(path, job)) } }
            } }
            (listing::next(path, next.as_deref().unwrap_or_default(), &shown))
        }
    }
}

fn row(path: &str, job: &Job) -> Markup {
    let outcome = job.outcome.as_ref();
    html! {
        tr {
            th scope="row" { a href={ (path) "/" (job.id) } { code { (job.id) } } }
            td { (mark(&job.state)) (label(&job.state)) }
            td { (when::ago(&job.accepted_at)) }
            td { @if let Some(due) = &job.due_at { (when::ago(due)) } }
            td.number { (job.attempts) }
            td { (job.caller.as_deref().unwrap_or("–")) }
            td {
                @if let Some(status) = outcome.and_then(|outcome| outcome.status) { (status) " " }
                @if let Some(reason) = outcome.and_then(|outcome| outcome.reason.as_deref()) { span.faint { (reason) } }
            }
        }
    }
}

/// The look of a layer of the bucket, or a shape.
fn mark(state: &str) -> Markup {
    let (shape, mood) = match state {
        "waiting" | "parked" | "in_flight" => return html! { span.swatch.(state.replace('_', "-")) {} },
        "delivered" => ("●", "good"),
        "dead" => ("■", "bad"),
        _ => ("◆", "look"),
    };
    html! { span.mood data-mood=(mood) { span.shape aria-hidden="true" { (shape) } " " } }
}

pub(crate) fn label(state: &str) -> String {
    state.replace('_', " ")
}

fn find_forms(visitor: &Visitor, path: &str) -> Markup {
    html! {
        div.toolbar {
            form.find method="get" action=(path) {
                label for="id" { "Job id" }
                input #id name="id" type="search" placeholder="1700000000000-0" autocomplete="off" spellcheck="false"
                    data-search-field;
                button type="submit" { "Show" }
            }
            form.find method="get" action=(path) {
                label for="key" { "Idempotency key" }
                input #key name="key" type="search" placeholder="order-17" autocomplete="off" spellcheck="false";
                @if visitor.may("operate") {
                    label for="key-caller" { "of caller" }
                    input.short #key-caller name="caller" placeholder="you" autocomplete="off" spellcheck="false";
                }
                button type="submit" { "Find" }
            }
        }
    }
}
