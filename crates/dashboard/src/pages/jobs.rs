//! `/buckets/{b}/jobs`: jobs by state, caller, age and idempotency key.

pub(crate) mod jobs_query;
mod states;
mod unknown_key;

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use futures::future::join;
use maud::{Markup, html};

use self::jobs_query::JobsQuery;
use crate::dashboard::Dashboard;
use crate::live;
use crate::live::list_refresh::ListRefresh;
use crate::live::watcher::Watcher;
use crate::model::List;
use crate::model::bucket::Frame;
use crate::model::job::Job;
use crate::pages::cancel_many;
use crate::pages::done::Done;
use crate::parts::layout::{self, Page};
use crate::parts::{listing, teach, when};
use crate::web::answer;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

/// The id of the part with the list.
const LIST: &str = "jobs";
/// Maximum number of pages of the API that are read for one page, until one has a matching job.
const MOST_PARTS: usize = 10;

pub(crate) async fn show(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Path(name): Path<String>,
    Query(wanted): Query<JobsQuery>,
    Query(done): Query<Done>,
) -> Response {
    let path = path(&name);
    if let Some(id) = wanted.id() {
        return answer::see_other(&format!("{path}/{}", escaped(id)));
    }
    let (jobs, bucket) = join(read(&page, &visitor, &path, &wanted), page.bucket(&visitor, &name)).await;
    match jobs {
        Ok(List { items, .. }) if wanted.key().is_some() && !items.is_empty() => {
            answer::see_other(&format!("{path}/{}", items[0].id))
        }
        Ok(jobs) => {
            let body = html! {
                (listing::heading(&name, &html! { "Jobs" }, "/jobs"))
                (done.show_of(&wanted.described()))
                (find_forms(&path, &wanted))
                @if wanted.key().is_some() { (teach::empty(&unknown_key::message(&visitor, &wanted))) }
                @else {
                    div.toolbar {
                        (states::links(&path, &wanted, bucket.as_ref().ok()))
                        @if visitor.may("operate") { (cancel_many::form(&visitor, &name, &path, &wanted)) }
                    }
                    (list(&visitor, &name, &wanted, &jobs))
                }
            };
            let live = wanted.key().is_none().then(|| format!("/live{path}{}", wanted.of_api(None)));
            let title = format!("Jobs of {name}");
            layout::show(&visitor, &Page { title: &title, section: "/", live: live.as_deref(), body })
        }
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

fn path(name: &str) -> String {
    format!("/buckets/{}/jobs", escaped(name))
}

/// Live updates: the list, which is read again when it may have changed.
pub(crate) async fn live(
    State(page): State<Dashboard>,
    Watcher(visitor): Watcher,
    Path(name): Path<String>,
    Query(wanted): Query<JobsQuery>,
) -> Response {
    let list_refresh = ListRefresh::default();
    let of = Arc::new((page.clone(), visitor.clone(), name.clone(), wanted));
    let draw = move |frame: Arc<Frame>| {
        let (of, list_refresh) = (Arc::clone(&of), list_refresh.clone());
        async move {
            let (page, visitor, name, wanted) = &*of;
            let Some(bucket) = frame.states.first() else { return live::without(&frame, name) };
            let path = path(name);
            let mut parts = vec![(states::ID.to_owned(), states::links(&path, wanted, Some(bucket)))];
            let jobs = list_refresh.with(&frame.at, bucket, read(page, visitor, &path, wanted)).await;
            parts.extend(jobs.map(|jobs| (LIST.to_owned(), list(visitor, name, wanted, &jobs))));
            Some(parts)
        }
    };
    live::events(&page, &visitor, &[name], draw).await
}

/// Reads a page of the list. A page of the API may be empty although matching jobs follow.
async fn read(page: &Dashboard, visitor: &Visitor, path: &str, wanted: &JobsQuery) -> Result<List<Job>, Failure> {
    let mut query = wanted.of_api(None);
    for _ in 1..MOST_PARTS {
        let jobs: List<Job> = page.api().get(visitor, &format!("/v1{path}{query}")).await?;
        match &jobs.next {
            Some(next) if jobs.items.is_empty() => query = wanted.of_api(Some(next)),
            _ => return Ok(jobs),
        }
    }
    page.api().get(visitor, &format!("/v1{path}{query}")).await
}

fn list(visitor: &Visitor, bucket: &str, wanted: &JobsQuery, jobs: &List<Job>) -> Markup {
    html! { div id=(LIST) data-calm { (items(&path(bucket), wanted, jobs, &teach::submit(visitor, bucket))) } }
}

fn items(path: &str, wanted: &JobsQuery, jobs: &List<Job>, teach: &Markup) -> Markup {
    let shown = listing::shown(jobs.items.len(), ("job", "jobs"), wanted.is_first_page(), jobs.next.is_none());
    let next = jobs.next.as_deref().map(|next| wanted.page(Some(next)));
    html! {
        @if jobs.items.is_empty() && next.is_some() {
            (teach::empty(&html! { p { "No job matches in the part of the list that was looked through." } }))
        } @else if jobs.items.is_empty() && wanted.is_narrowed() {
            (teach::empty(&html! { p { "No job matches: " (wanted.described()) ". " a href=(path) { "Show all" } } }))
        } @else if jobs.items.is_empty() {
            @let state = wanted.state();
            @let label = states::label(state);
            (teach::empty(&html! {
                p { "No job is " (label) @if state.is_empty() { " now" } ". Submit one:" }
                (teach)
            }))
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Jobs" { table {
                (listing::head(&["id", "state", "accepted", "due", "#attempts", "caller", "end"]))
                tbody { @for job in &jobs.items { (row(path, wanted, job)) } }
            } }
        }
        @if !jobs.items.is_empty() || next.is_some() {
            (listing::next(path, next.as_deref().unwrap_or_default(), &shown))
        }
    }
}

fn row(path: &str, wanted: &JobsQuery, job: &Job) -> Markup {
    let outcome = job.outcome.as_ref();
    html! {
        tr {
            th scope="row" { a href={ (path) "/" (job.id) } { code { (job.id) } } }
            td { (mark(&job.state)) (label(&job.state)) }
            td { (when::ago(&job.accepted_at)) }
            td { @if let Some(due) = &job.due_at { (when::ago(due)) } }
            td.number { (job.attempts) }
            td {
                @match &job.caller {
                    Some(caller) => a href={ (path) (wanted.of_caller(caller)) } { (caller) },
                    None => "–",
                }
            }
            td {
                @if let Some(status) = outcome.and_then(|outcome| outcome.status) { (status) " " }
                @if let Some(reason) = outcome.and_then(|outcome| outcome.reason.as_deref()) { span.faint { (reason) } }
            }
        }
    }
}

/// The colour of a layer of the bucket, or a shape.
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

fn find_forms(path: &str, wanted: &JobsQuery) -> Markup {
    html! {
        div.toolbar {
            (listing::id_form(path))
            form.find method="get" action=(path) {
                input type="hidden" name="state" value=(wanted.state());
                (listing::field("Caller", "caller", "any", wanted.caller()))
                (listing::field("Older than", "older_than", "10m", wanted.older_than()))
                (listing::field("Idempotency key", "key", "order-17", wanted.key()))
                button type="submit" { "Find" }
            }
        }
    }
}
