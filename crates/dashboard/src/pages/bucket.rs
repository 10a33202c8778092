//! `/buckets/{b}`: one bucket, its numbers, its pace, and what can be done.

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::{HeaderMap, Method};
use maud::{Markup, html};

use crate::dashboard::Dashboard;
use crate::live::{self, Part};
use crate::model::List;
use crate::model::audit::AuditEntry;
use crate::model::bucket::{Bucket, Frame};
use crate::model::job::Purged;
use crate::pages::done::{Done, after};
use crate::pages::{change, playground};
use crate::parts::layout::{self, Page};
use crate::parts::{action, attention, drawing, listing, overview, teach, trail};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

pub(crate) async fn show(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Path(name): Path<String>,
    Query(done): Query<Done>,
    headers: HeaderMap,
) -> Response {
    match page.bucket(&visitor, &name).await {
        Ok(bucket) => {
            let trail = page.api().get(&visitor, &format!("/v1/buckets/{}/audit", escaped(&name))).await;
            let around = Around {
                panel: playground::panel(&page, &visitor, Some(&bucket)).await,
                // What the bucket is doing matters more than that its trail can't be read.
                trail: trail.map_or_else(|_| html! {}, |list: List<AuditEntry>| trail::of(&list.items)),
                address: teach::address(&headers),
            };
            let body = body(&visitor, &bucket, &around, &done);
            let live = format!("/live/buckets/{}", escaped(&bucket.name));
            layout::show(&visitor, &Page { title: &bucket.name, section: "/", live: Some(&live), body })
        }
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

/// What stands around the bucket itself.
struct Around {
    panel: Markup,
    trail: Markup,
    address: String,
}

fn body(visitor: &Visitor, bucket: &Bucket, around: &Around, done: &Done) -> Markup {
    html! {
        (drawing::shapes())
        h1 { (bucket.name) }
        (listing::tabs(&bucket.name, ""))
        (done.show())
        @for (id, part) in parts(visitor, bucket) {
            (part)
            // What needs a person comes first.
            @if id == "attention" { (around.panel) }
        }
        @if bucket.totals.accepted == 0 {
            section.teach { h2 { "Submit a first job" } (teach::submit(visitor, &around.address, &bucket.name)) }
        }
        @if visitor.may("operate") {
            (change::form(bucket))
            section {
                h2 { "Empty it" }
                (action::confirmed(
                    visitor,
                    &format!("/buckets/{}/purge", bucket.name),
                    "Purge…",
                    "Cancels all waiting and parked jobs, for good. Jobs in flight go on.",
                    &bucket.name,
                ))
            }
        }
        (around.trail)
    }
}

/// What changes with each frame.
fn parts(visitor: &Visitor, bucket: &Bucket) -> Vec<Part> {
    vec![
        ("attention".to_owned(), attention::list(attention::of_bucket(&bucket.row()))),
        ("overview".to_owned(), overview::now(visitor, bucket)),
        ("charts".to_owned(), overview::charts(bucket)),
        ("details".to_owned(), overview::details(bucket)),
    ]
}

pub(crate) async fn live(State(page): State<Dashboard>, visitor: Visitor, Path(name): Path<String>) -> Response {
    let viewer = visitor.clone();
    let draw = move |frame: &Frame| frame.states.first().map(|bucket| parts(&viewer, bucket));
    match live::events(&page, &visitor, &[name], draw).await {
        Ok(events) => events,
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

pub(crate) async fn pause(State(page): State<Dashboard>, Path(name): Path<String>, action: Action) -> Response {
    after(&action.visitor, operate(&page, &action, &name, "pause", "paused").await)
}

pub(crate) async fn resume(State(page): State<Dashboard>, Path(name): Path<String>, action: Action) -> Response {
    after(&action.visitor, operate(&page, &action, &name, "resume", "resumed").await)
}

async fn operate(page: &Dashboard, by: &Action, name: &str, verb: &str, done: &str) -> Result<String, Failure> {
    let name = escaped(name);
    page.api().call(&by.visitor, Method::POST, &format!("/v1/buckets/{name}/{verb}"), None).await?;
    Ok(format!("/buckets/{name}?done={done}"))
}

pub(crate) async fn purge(State(page): State<Dashboard>, Path(name): Path<String>, action: Action) -> Response {
    after(&action.visitor, purged(&page, &action, &name).await)
}

async fn purged(page: &Dashboard, action: &Action, name: &str) -> Result<String, Failure> {
    action.confirms(name)?;
    let name = escaped(name);
    let body = page.api().call(&action.visitor, Method::POST, &format!("/v1/buckets/{name}/purge"), None).await?;
    let Purged { purged } = serde_json::from_slice(&body).map_err(|_| Failure::unreadable())?;
    Ok(format!("/buckets/{name}?done=purged&count={purged}"))
}
