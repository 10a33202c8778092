//! `/buckets/{b}`: one bucket, its numbers, its pace, and what can be done.

use std::future::ready;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::{HeaderMap, Method};
use maud::{Markup, html};

use crate::dashboard::Dashboard;
use crate::live::{self, Part};
use crate::model::List;
use crate::model::audit::AuditEntry;
use crate::model::bucket::{Bucket, Frame};
use crate::model::holders::Holders;
use crate::model::job::Purged;
use crate::pages::done::{Done, after};
use crate::pages::history::{self, Window};
use crate::pages::{change, playground};
use crate::parts::layout::{self, Page};
use crate::parts::{action, attention, drawing, holders, listing, overview, teach, trail};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

/// That hold the most room.
const MOST_CALLERS: usize = 10;

pub(crate) async fn show(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Path(name): Path<String>,
    Query(done): Query<Done>,
    Query(window): Query<Window>,
    headers: HeaderMap,
) -> Response {
    match page.bucket(&visitor, &name).await {
        Ok(bucket) => {
            let trail = page.api().get(&visitor, &format!("/v1/buckets/{}/audit", escaped(&name))).await;
            let path = format!("/v1/buckets/{}/holders?limit={MOST_CALLERS}", escaped(&name));
            let found = page.api().get::<Holders>(&visitor, &path).await;
            let around = Around {
                history: history::section(&page, &visitor, &name, &window).await,
                panel: playground::panel(&page, &visitor, Some(&bucket)).await,
                // What the bucket is doing matters more than that its trail can't be read.
                trail: trail.map_or_else(|_| html! {}, |list: List<AuditEntry>| trail::of(&list.items)),
                callers: found.map_or_else(|_| html! {}, |found| holders::of(&bucket, &found)),
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
    history: Markup,
    panel: Markup,
    trail: Markup,
    callers: Markup,
    address: String,
}

fn body(visitor: &Visitor, bucket: &Bucket, around: &Around, done: &Done) -> Markup {
    html! {
        (drawing::shapes())
        (listing::heading(&bucket.name, &html! { (bucket.name) }, ""))
        (done.show())
        @for (id, part) in parts(visitor, bucket) {
            @match id.as_str() {
                // What needs a person comes first.
                "attention" => { (part) (around.panel) }
                "overview" => { (part) (first_job(visitor, bucket, &around.address)) (around.history) }
                _ => div.columns { (part) (around.callers) (around.trail) }
            }
        }
        @if visitor.may("operate") {
            (change::form(bucket))
            section.card.row {
                div {
                    h2 { "Purge" }
                    p.faint { "Cancels all waiting and parked jobs, for good. Jobs in flight go on." }
                }
                (action::confirmed(
                    visitor,
                    &format!("/buckets/{}/purge", bucket.name),
                    "Purge…",
                    "This can't be undone.",
                    &bucket.name,
                ))
            }
        }
    }
}

/// How to submit one, while there was none.
fn first_job(visitor: &Visitor, bucket: &Bucket, address: &str) -> Markup {
    html! {
        @if bucket.totals.accepted == 0 {
            section.card { h2 { "Submit a first job" } (teach::submit(visitor, address, &bucket.name)) }
        }
    }
}

/// What changes with each frame.
fn parts(visitor: &Visitor, bucket: &Bucket) -> Vec<Part> {
    vec![
        ("attention".to_owned(), attention::list(attention::of_bucket(&bucket.row()))),
        ("overview".to_owned(), overview::now(visitor, bucket)),
        ("details".to_owned(), overview::details(bucket)),
    ]
}

pub(crate) async fn live(State(page): State<Dashboard>, visitor: Visitor, Path(name): Path<String>) -> Response {
    let viewer = visitor.clone();
    let draw = move |frame: &Frame| ready(frame.states.first().map(|bucket| parts(&viewer, bucket)));
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
