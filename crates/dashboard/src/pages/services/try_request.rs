//! A form to try a request, and the result.

use http::{Method, StatusCode};
use maud::{Markup, html};
use serde_json::{Value, json};

use crate::dashboard::Dashboard;
use crate::parts::{action, when};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::{Action, Fields};
use crate::web::identity::Visitor;

/// The fields of the form, with their defaults. The form keeps typed values for the next try.
const METHOD: (&str, &str) = ("method", "GET");
const PATH: (&str, &str) = ("path", "/");
const CALLER: (&str, &str) = ("caller", "");
const COST: (&str, &str) = ("cost", "1");

/// A tried request.
pub(super) struct Tried<'t> {
    pub(super) service: &'t str,
    pub(super) fields: &'t Fields,
    pub(super) verdict: Result<Verdict, Failure>,
}

/// The decision on a tried request.
pub(super) struct Verdict {
    allowed: bool,
    /// `None` if it was allowed, or waiting doesn't help.
    retry_after_ms: Option<u64>,
    answer: String,
}

pub(super) fn form(visitor: &Visitor, service: &str, tried: Option<&Tried<'_>>) -> Markup {
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

pub(super) fn outcome(tried: &Tried<'_>) -> Markup {
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

pub(super) async fn verdict(page: &Dashboard, action: &Action, service: &str) -> Result<Verdict, Failure> {
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
