//! `/services`: rules, decisions, and a form to try a request.

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::dashboard::Dashboard;
use crate::model::List;
use crate::model::services::{Rules, Service};
use crate::parts::layout::{self, Page};
use crate::parts::{action, listing, numbers, policy, teach, when};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::{Action, Fields};
use crate::web::identity::Visitor;

/// Rules for a first service.
const EXAMPLE: &str =
    r#"{"policies":[{"id":"each","key":["caller"],"tiers":[{"kind":"bucket","rate":"1/s","burst":5}]}]}"#;

/// The fields of the form: it keeps what was typed, for the next try.
const METHOD: (&str, &str) = ("method", "GET");
const PATH: (&str, &str) = ("path", "/");
const CALLER: (&str, &str) = ("caller", "");
const COST: (&str, &str) = ("cost", "1");

/// A try of a request.
struct Tried<'t> {
    service: &'t str,
    fields: &'t Fields,
    verdict: Result<Verdict, Failure>,
}

/// How a try came out.
struct Verdict {
    allowed: bool,
    /// None: it was allowed, or no wait helps.
    retry_after_ms: Option<u64>,
    answer: String,
}

pub(crate) async fn show(State(page): State<Dashboard>, visitor: Visitor) -> Response {
    shown(&page, &visitor, None).await
}

async fn shown(page: &Dashboard, visitor: &Visitor, tried: Option<&Tried<'_>>) -> Response {
    match body(page, visitor, tried).await {
        Ok(body) => layout::show(visitor, &Page { title: "Services", section: "/services", live: None, body }),
        Err(failure) => layout::failed(Some(visitor), &failure),
    }
}

async fn body(page: &Dashboard, visitor: &Visitor, tried: Option<&Tried<'_>>) -> Result<Markup, Failure> {
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

fn one(visitor: &Visitor, service: &Service, policies: &[Value], tried: Option<&Tried<'_>>) -> Markup {
    html! {
        section.card id={ "service-" (service.name) } {
            header { h2 { (service.name) } }
            div.scroll tabindex="0" role="region" aria-label={ "Policies of " (service.name) } { table {
                (listing::head(&["policy", "counts by", "limits", "#allowed", "#refused", "#shadow refused"]))
                tbody { @for policy in policies { (policy_row(service, policy)) } }
            } }
            p.faint { "Counted by this intake since it started." }
            @if visitor.may("submit") { (try_form(visitor, &service.name, tried)) }
            @if let Some(tried) = tried { (outcome(tried)) }
        }
    }
}

fn outcome(tried: &Tried<'_>) -> Markup {
    html! {
        @match &tried.verdict {
            Ok(verdict) => {
                p.note role="status" data-mood=(if verdict.allowed { "good" } else { "bad" }) {
                    strong { @if verdict.allowed { "Allowed" } @else { "Refused" } }
                    @if let Some(ms) = verdict.retry_after_ms { " until " (when::clock_in(ms)) }
                }
                pre.payload tabindex="0" { (verdict.answer) }
            },
            Err(Failure { title, detail, .. }) => p.note role="alert" data-mood="bad" {
                strong { (title) } ". " (detail)
            },
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

fn try_form(visitor: &Visitor, service: &str, tried: Option<&Tried<'_>>) -> Markup {
    let value = |(name, first): (&str, &'static str)| {
        tried.and_then(|tried| tried.fields.get(name)).map_or(first, String::as_str).to_owned()
    };
    html! {
        form.try method="post" action={ "/services/" (service) "/try" } {
            (action::token(visitor))
            label { "method" input.short name=(METHOD.0) value=(value(METHOD)) autocomplete="off"; }
            label { "path" input name=(PATH.0) value=(value(PATH)) autocomplete="off"; }
            label { "caller" input name=(CALLER.0) value=(value(CALLER)) autocomplete="off"; }
            label { "cost" input.short name=(COST.0) value=(value(COST)) inputmode="numeric" autocomplete="off"; }
            button type="submit" { "Try a request" }
            span.faint { "An allowed request uses up its cost, as any other." }
        }
    }
}

pub(crate) async fn check(State(page): State<Dashboard>, Path(service): Path<String>, action: Action) -> Response {
    let verdict = verdict(&page, &action, &service).await;
    let status = verdict.as_ref().map_or_else(|failure| failure.status, |_| StatusCode::OK);
    match verdict {
        Err(failure) if !matches!(status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY) => {
            layout::failed(Some(&action.visitor), &failure)
        }
        verdict => {
            let tried = Tried { service: &service, fields: &action.fields, verdict };
            (status, shown(&page, &action.visitor, Some(&tried)).await).into_response()
        }
    }
}

async fn verdict(page: &Dashboard, action: &Action, service: &str) -> Result<Verdict, Failure> {
    let mut request = action.members(&[METHOD.0, PATH.0, CALLER.0]);
    if let Some(cost) = action.field(COST.0) {
        request.insert(COST.0.to_owned(), json!(cost.parse::<u64>().map_err(|_| invalid_cost())?));
    }
    let path = format!("/v1/services/{}/check", escaped(service));
    let request = Value::Object(request);
    let (status, body) = page.api().answer(&action.visitor, Method::POST, &path, Some(&request)).await?;
    let verdict: Value = serde_json::from_slice(&body).map_err(|_| Failure::unreadable())?;
    let Some(allowed) = verdict["allowed"].as_bool() else { return Err(Failure::of(status, &body)) };
    let answer = serde_json::to_string_pretty(&verdict).map_err(|_| Failure::unreadable())?;
    let retry_after_ms = verdict["retry_after_ms"].as_u64();
    Ok(Verdict { allowed, retry_after_ms, answer })
}

fn invalid_cost() -> Failure {
    Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "Nothing was tried", "cost: give a whole number, such as 1")
}
