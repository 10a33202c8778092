//! `/services`: rules, their decisions over time, and a form to try a request.

mod decisions;
mod ruled;
mod try_request;

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use self::ruled::{Ruled, read};
use self::try_request::Tried;
use crate::dashboard::Dashboard;
use crate::live::watcher::Watcher;
use crate::live::{self, Part};
use crate::parts::layout::{self, Page};
use crate::parts::{listing, teach};
use crate::web::form::Action;
use crate::web::identity::Visitor;

/// With more services the page isn't live, because all are read each second.
const MOST_LIVE: usize = 30;

/// Rules for a first service.
const EXAMPLE: &str =
    r#"{"policies":[{"id":"each","key":["caller"],"tiers":[{"kind":"bucket","rate":"1/s","burst":5}]}]}"#;

pub(crate) async fn show(State(page): State<Dashboard>, visitor: Visitor) -> Response {
    shown(&page, &visitor, None).await
}

async fn shown(page: &Dashboard, visitor: &Visitor, tried: Option<&Tried<'_>>) -> Response {
    match read(page, visitor).await {
        Ok(services) => {
            // The answer to a form can't be reloaded, so it isn't live.
            let live = (tried.is_none() && services.len() <= MOST_LIVE).then(|| live_path(&services));
            let body = body(visitor, &services, tried);
            layout::show(visitor, &Page { title: "Services", section: "/services", live: live.as_deref(), body })
        }
        Err(failure) => layout::failed(Some(visitor), &failure),
    }
}

pub(crate) async fn check(State(page): State<Dashboard>, Path(service): Path<String>, action: Action) -> Response {
    let verdict = try_request::verdict(&page, &action, &service).await;
    let status = verdict.as_ref().map_or_else(|failure| failure.status, |_| StatusCode::OK);
    match verdict {
        Err(failure) if !matches!(status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY) => {
            layout::failed(Some(&action.visitor), &failure)
        }
        verdict => {
            let tried = Tried { service: &service, fields: &action.fields, verdict };
            let mut answer = shown(&page, &action.visitor, Some(&tried)).await;
            if answer.status() == StatusCode::OK {
                *answer.status_mut() = status;
            }
            answer
        }
    }
}

/// The query of live updates: the services that the page shows.
#[derive(Deserialize)]
pub(crate) struct Watched {
    #[serde(default)]
    names: String,
}

fn live_path(services: &[Ruled]) -> String {
    format!("/live/services{}", listing::query(&[("names", Some(&names(services)))]))
}

fn names(services: &[Ruled]) -> String {
    services.iter().map(|ruled| ruled.service.name.as_str()).collect::<Vec<_>>().join(",")
}

/// Live updates of the tables, as long as the services are the same.
pub(crate) async fn live(
    State(page): State<Dashboard>,
    Watcher(visitor): Watcher,
    Query(watched): Query<Watched>,
) -> Response {
    let of = Arc::new((page.clone(), visitor.clone(), watched.names));
    let draw = move |_| {
        let of = Arc::clone(&of);
        async move {
            let (page, visitor, shown) = &*of;
            match read(page, visitor).await {
                Ok(services) if names(&services) == *shown => Some(services.iter().map(part).collect()),
                Ok(_) => None,
                Err(_) => Some(Vec::new()),
            }
        }
    };
    live::events(&page, &visitor, &[], draw).await
}

fn part(ruled: &Ruled) -> Part {
    (decisions::id(&ruled.service), decisions::of(ruled))
}

fn body(visitor: &Visitor, services: &[Ruled], tried: Option<&Tried<'_>>) -> Markup {
    html! {
        h1 { "Services" }
        p.faint { "Rate limits for services without a queue: a gateway asks whether a request may pass." }
        @if services.is_empty() {
            (teach::empty(&html! {
                p { "No service has rules yet. Register one:" }
                (first_rules(visitor))
            }))
        }
        @for ruled in services {
            (one(visitor, ruled, tried.filter(|tried| tried.service == ruled.service.name)))
        }
    }
}

fn first_rules(visitor: &Visitor) -> Markup {
    let (address, key) = (visitor.api.origin(), teach::key(visitor));
    teach::command(&format!("curl -X PUT {address}/v1/services/shop/rules{key} --json '{EXAMPLE}'"))
}

fn one(visitor: &Visitor, ruled: &Ruled, tried: Option<&Tried<'_>>) -> Markup {
    let name = &ruled.service.name;
    html! {
        section.card id={ "service-" (name) } {
            header { h2 { (name) } a href={ "/audit" (listing::query(&[("service", Some(name))])) } { "audit log" } }
            (decisions::of(ruled))
            p.faint { "Counted by this intake since it started." }
            @if visitor.may("submit") { (try_request::form(visitor, name, tried)) }
            @if let Some(tried) = tried { (try_request::outcome(tried)) }
        }
    }
}
