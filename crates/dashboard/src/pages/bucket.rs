//! `/buckets/{b}`: one bucket, its numbers, its rate, and actions.

mod callers;
pub(crate) mod change;
mod current;
pub(crate) mod history;
mod patch;
pub(crate) mod schedules;
mod settings;
pub(crate) mod trail;
mod wanted;

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::Method;
use maud::{Markup, html};
use serde::Deserialize;

use self::history::Window;
use self::trail::LiveTrail;
use crate::dashboard::Dashboard;
use crate::live::list_refresh::ListRefresh;
use crate::live::watcher::Watcher;
use crate::live::{self, Part};
use crate::model::audit::AuditEntry;
use crate::model::bucket::{Bucket, Frame};
use crate::model::job::Purged;
use crate::pages::done::{Done, after};
use crate::pages::playground;
use crate::parts::layout::{self, Page};
use crate::parts::trail as audit_log;
use crate::parts::{action, attention, drawing, listing, overview, teach};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

/// The ids of parts of the page.
const ATTENTION: &str = "attention";
const OVERVIEW: &str = "overview";
const AUDIT_LOG: &str = "audit";
const REPLICAS: &str = "replicas";

pub(crate) async fn show(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Path(name): Path<String>,
    Query(done): Query<Done>,
    Query(window): Query<Window>,
) -> Response {
    match page.bucket(&visitor, &name).await {
        Ok(bucket) => {
            // If the audit log can't be read, the rest of the page is shown all the same.
            let trail = trail::read(&page, &visitor, &name).await.ok();
            let around = Around {
                history: history::section(&page, &visitor, &name, &window).await,
                panel: playground::panel(&page, &visitor, Some(&bucket)).await,
                callers: callers::card(&page, &visitor, &bucket).await.unwrap_or_default(),
                schedules: schedules::section(&page, &visitor, &name).await,
                settings: settings::section(&page, &visitor, &name).await,
            };
            let parts = parts(&visitor, &bucket, trail.as_deref());
            let body = body(&visitor, &bucket, &parts, &around, &done);
            let live = live_path(&bucket);
            layout::show(&visitor, &Page { title: &bucket.name, section: "/", live: Some(&live), body })
        }
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

/// The query of live updates: what the page shows that isn't rendered with each frame.
#[derive(Deserialize)]
pub(crate) struct Shown {
    /// The version of the settings.
    settings: Option<String>,
}

fn live_path(bucket: &Bucket) -> String {
    format!("/live/buckets/{}?settings={}", escaped(&bucket.name), settings::version(&bucket.changes))
}

/// The parts of the page that aren't rendered with each frame.
struct Around {
    history: Markup,
    panel: Markup,
    callers: Markup,
    schedules: Markup,
    settings: Markup,
}

fn body(visitor: &Visitor, bucket: &Bucket, parts: &[Part], around: &Around, done: &Done) -> Markup {
    html! {
        (drawing::shapes())
        (listing::heading(&bucket.name, &html! { (bucket.name) }, ""))
        (done.show())
        @for (id, part) in parts {
            @match id.as_str() {
                // Problems come first.
                ATTENTION => { (part) (around.panel) }
                OVERVIEW => { (part) (first_job(visitor, bucket)) (around.history) }
                "details" => div.columns { (one(parts, REPLICAS)) (part) (around.callers) (one(parts, AUDIT_LOG)) },
                _ => {}
            }
        }
        (around.schedules)
        (around.settings)
        @if visitor.may("operate") {
            section.card.row {
                div {
                    h2 { "Purge" }
                    p.faint { "Permanently cancels all waiting and parked jobs. Jobs in flight continue." }
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

fn first_job(visitor: &Visitor, bucket: &Bucket) -> Markup {
    teach::first_job(visitor, Some(bucket.name.as_str()).filter(|_| bucket.totals.accepted == 0))
}

/// The parts that are rendered with each frame.
fn parts(visitor: &Visitor, bucket: &Bucket, trail: Option<&Vec<AuditEntry>>) -> Vec<Part> {
    let paused_by = trail.and_then(|trail| trail::paused_by(bucket, trail));
    let mut parts = vec![
        (ATTENTION.to_owned(), attention::list(attention::of_bucket(&bucket.row()))),
        (OVERVIEW.to_owned(), overview::now(visitor, bucket, paused_by)),
        (REPLICAS.to_owned(), overview::replicas(bucket)),
        ("details".to_owned(), overview::details(bucket)),
    ];
    parts.extend(trail.map(|trail| (AUDIT_LOG.to_owned(), audit_log::of(trail))));
    parts
}

/// The parts if the bucket can't be read now. The rest of the page stays unchanged, including typed values.
fn unavailable(name: &str) -> Vec<Part> {
    let notice = attention::list(vec![attention::of_unavailable(name)]);
    vec![(ATTENTION.to_owned(), notice), (OVERVIEW.to_owned(), overview::unavailable())]
}

/// The part with this id.
fn one(parts: &[Part], id: &str) -> Markup {
    html! { @for (_, part) in parts.iter().filter(|(of, _)| of == id) { (part) } }
}

pub(crate) async fn live(
    State(page): State<Dashboard>,
    Watcher(visitor): Watcher,
    Path(name): Path<String>,
    Query(shown): Query<Shown>,
) -> Response {
    let (trail, list_refresh) = (LiveTrail::default(), ListRefresh::default());
    let of = Arc::new((page.clone(), visitor.clone(), name.clone(), shown.settings));
    let draw = move |frame: Arc<Frame>| {
        let (of, trail, list_refresh) = (Arc::clone(&of), trail.clone(), list_refresh.clone());
        async move {
            let (page, visitor, name, shown) = &*of;
            if frame.unavailable.contains(name) {
                return Some(unavailable(name));
            }
            let bucket = frame.states.first()?;
            let trail = trail.read(page, visitor, &frame.at, bucket).await;
            let mut parts = parts(visitor, bucket, trail.as_deref());
            let is_old = shown.as_ref().is_some_and(|version| *version != settings::version(&bucket.changes));
            parts.push((settings::NOTE.to_owned(), settings::note(is_old)));
            parts.push((teach::FIRST_JOB.to_owned(), first_job(visitor, bucket)));
            let card = list_refresh.with(&frame.at, bucket, callers::card(page, visitor, bucket)).await;
            parts.extend(card.map(|card| (callers::CARD.to_owned(), card)));
            Some(parts)
        }
    };
    live::events(&page, &visitor, &[name], draw).await
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
