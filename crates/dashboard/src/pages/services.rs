//! `/services`: rules, decisions, and a form to try a request.

use axum::extract::{Path, State};
use axum::response::Response;
use http::Method;
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::dashboard::Dashboard;
use crate::model::List;
use crate::model::services::{Rules, Service};
use crate::parts::layout::{self, Page};
use crate::parts::{action, listing, numbers, policy, teach, when};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

/// Rules for a first service.
const EXAMPLE: &str =
    r#"{"policies":[{"id":"each","key":["caller"],"tiers":[{"kind":"bucket","rate":"1/s","burst":5}]}]}"#;

/// How the try of a request came out.
struct Tried {
    service: String,
    allowed: bool,
    /// None: it was allowed, or no wait helps.
    retry_after_ms: Option<u64>,
    answer: String,
}

pub(crate) async fn show(State(page): State<Dashboard>, visitor: Visitor) -> Response {
    shown(&page, &visitor, None).await
}

async fn shown(page: &Dashboard, visitor: &Visitor, tried: Option<&Tried>) -> Response {
    match body(page, visitor, tried).await {
        Ok(body) => layout::show(visitor, &Page { title: "Services", section: "/services", live: None, body }),
        Err(failure) => layout::failed(Some(visitor), &failure),
    }
}

async fn body(page: &Dashboard, visitor: &Visitor, tried: Option<&Tried>) -> Result<Markup, Failure> {
    let services: List<Service> = page.api().get(visitor, "/v1/services").await?;
    let mut rules = Vec::new();
    for service in &services.items {
        let path = format!("/v1/services/{}/rules", escaped(&service.name));
        rules.push(page.api().get::<Rules>(visitor, &path).await?.policies);
    }
    Ok(html! {
        h1 { "Services" }
        p.faint { "Rate limits for services without a queue: a gateway asks whether a request may pass." }
        @if services.items.is_empty() {
            section.state {
                p { "No service has rules yet. Register one:" }
                (first_rules(visitor))
            }
        }
        @for (service, policies) in services.items.iter().zip(&rules) {
            (one(visitor, service, policies, tried.filter(|tried| tried.service == service.name)))
        }
    })
}

fn first_rules(visitor: &Visitor) -> Markup {
    let (address, key) = (visitor.api.origin(), teach::key(visitor));
    teach::command(&format!("curl -X PUT {address}/v1/services/shop/rules{key} --json '{EXAMPLE}'"))
}

fn one(visitor: &Visitor, service: &Service, policies: &[Value], tried: Option<&Tried>) -> Markup {
    html! {
        section.card id={ "service-" (service.name) } {
            header { h2 { (service.name) } }
            div.scroll tabindex="0" role="region" aria-label={ "Policies of " (service.name) } { table {
                (listing::head(&["policy", "counts by", "limits", "#allowed", "#refused", "#shadow refused"]))
                tbody { @for policy in policies { (policy_row(service, policy)) } }
            } }
            p.faint { "Counted by this intake since it started." }
            @if visitor.may("submit") { (try_form(visitor, &service.name)) }
            @if let Some(tried) = tried {
                p.note role="status" data-mood=(if tried.allowed { "good" } else { "bad" }) {
                    strong { @if tried.allowed { "Allowed" } @else { "Refused" } }
                    @if let Some(ms) = tried.retry_after_ms { " until " (when::clock_in(ms)) }
                }
                pre.payload tabindex="0" { (tried.answer) }
            }
        }
    }
}

fn policy_row(service: &Service, rule: &Value) -> Markup {
    let id = rule["id"].as_str().unwrap_or_default();
    let verdicts = service.verdicts.get(id);
    let number = |of: fn(&crate::model::services::Verdicts) -> u64| numbers::count(verdicts.map_or(0, of));
    html! {
        tr {
            (policy::cells(rule))
            td.number { (number(|of| of.allowed + of.unchecked)) }
            td.number { (number(|of| of.refused)) }
            td.number { (number(|of| of.shadow_refused)) }
        }
    }
}

fn try_form(visitor: &Visitor, service: &str) -> Markup {
    html! {
        form.try method="post" action={ "/services/" (service) "/try" } {
            (action::token(visitor))
            label { "method" input.short name="method" value="GET" autocomplete="off"; }
            label { "path" input name="path" value="/" autocomplete="off"; }
            label { "caller" input name="caller" autocomplete="off"; }
            label { "cost" input.short name="cost" value="1" inputmode="numeric" autocomplete="off"; }
            button type="submit" { "Try a request" }
            span.faint { "An allowed request uses up its cost, as any other." }
        }
    }
}

pub(crate) async fn check(State(page): State<Dashboard>, Path(service): Path<String>, action: Action) -> Response {
    match tried(&page, &action, &service).await {
        Ok(tried) => shown(&page, &action.visitor, Some(&tried)).await,
        Err(failure) => layout::failed(Some(&action.visitor), &failure),
    }
}

async fn tried(page: &Dashboard, action: &Action, service: &str) -> Result<Tried, Failure> {
    let mut request = action.members(&["method", "path", "caller"]);
    if let Some(cost) = action.field("cost").and_then(|cost| cost.parse::<u64>().ok()) {
        request.insert("cost".to_owned(), json!(cost));
    }
    let path = format!("/v1/services/{}/check", escaped(service));
    let request = Value::Object(request);
    let (status, body) = page.api().answer(&action.visitor, Method::POST, &path, Some(&request)).await?;
    let verdict: Value = serde_json::from_slice(&body).map_err(|_| Failure::unreadable())?;
    let Some(allowed) = verdict["allowed"].as_bool() else { return Err(Failure::of(status, &body)) };
    let answer = serde_json::to_string_pretty(&verdict).map_err(|_| Failure::unreadable())?;
    let retry_after_ms = verdict["retry_after_ms"].as_u64();
    Ok(Tried { service: service.to_owned(), allowed, retry_after_ms, answer })
}
