//! `/buckets/{b}/dead/{id}`: one dead letter.

use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, Method};
use maud::{Markup, html};

use crate::dashboard::Dashboard;
use crate::model::job::{DeadLetter, Receipt};
use crate::pages::done::after;
use crate::pages::job::answer;
use crate::parts::layout::{self, Page};
use crate::parts::{action, card, listing, payload, teach, when};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

pub(crate) async fn show(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Path((name, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let path = format!("/buckets/{}/dead/{}", escaped(&name), escaped(&id));
    match page.api().get::<DeadLetter>(&visitor, &format!("/v1{path}")).await {
        Ok(letter) => {
            let body = body(&visitor, &name, &path, &letter, &teach::address(&headers));
            layout::show(&visitor, &Page { title: &format!("Dead letter {id}"), section: "/", live: None, body })
        }
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

fn body(visitor: &Visitor, name: &str, path: &str, letter: &DeadLetter, address: &str) -> Markup {
    let is_base64 = letter.body_base64.is_some();
    let text = letter.body.as_deref().or(letter.body_base64.as_deref());
    html! {
        h1 { "Dead letter " code { (letter.id) } }
        (listing::tabs(name, "/dead"))
        p.note data-mood="bad" {
            strong { "Died " } (when::ago(&letter.died_at)) ": "
            (letter.outcome.reason.as_deref().unwrap_or("no reason"))
        }
        @if visitor.may("operate") {
            div.actions {
                (action::button(visitor, &format!("{path}/replay"), "Replay"))
                @let what = "Deletes this letter and its payload for good.";
                (action::confirmed(visitor, &format!("{path}/delete"), "Delete…", what, "delete"))
            }
        }
        dl.numbers {
            (card::number("accepted", &when::ago(&letter.accepted_at)))
            (card::number("caller", &html! { (letter.caller.as_deref().unwrap_or("none")) }))
        }
        section {
            h2 { "Payload" }
            @if visitor.may("inspect") {
                (payload::of(text, is_base64, letter.content_type.as_deref(), false))
                h3 { "As a new job" }
                (teach::command(&curl(name, letter, address)))
            } @else { (payload::hidden()) }
        }
        (answer(visitor, &letter.outcome))
    }
}

fn curl(name: &str, letter: &DeadLetter, address: &str) -> String {
    let content_type = letter.content_type.as_deref();
    let content_type =
        content_type.map(|text| format!(" -H {}", quoted(&format!("content-type: {text}")))).unwrap_or_default();
    let url = format!("{address}/v1/buckets/{name}/jobs");
    match (&letter.body, &letter.body_base64) {
        (_, Some(base64)) => format!("printf %s {base64} | base64 -d | curl {url}{content_type} --data-binary @-"),
        (body, None) => {
            format!("curl {url}{content_type} --data-binary {}", quoted(body.as_deref().unwrap_or_default()))
        }
    }
}

/// For a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

pub(crate) async fn replay(
    State(page): State<Dashboard>,
    Path((name, id)): Path<(String, String)>,
    action: Action,
) -> Response {
    after(&action.visitor, replayed(&page, &action, &name, &id).await)
}

async fn replayed(page: &Dashboard, action: &Action, name: &str, id: &str) -> Result<String, Failure> {
    let (name, id) = (escaped(name), escaped(id));
    let body =
        page.api().call(&action.visitor, Method::POST, &format!("/v1/buckets/{name}/dead/{id}/replay"), None).await?;
    let Receipt { id } = serde_json::from_slice(&body).map_err(|_| Failure::unreadable())?;
    Ok(format!("/buckets/{name}/jobs/{id}?done=replayed&count=1"))
}

pub(crate) async fn delete(
    State(page): State<Dashboard>,
    Path((name, id)): Path<(String, String)>,
    action: Action,
) -> Response {
    after(&action.visitor, deleted(&page, &action, &name, &id).await)
}

async fn deleted(page: &Dashboard, action: &Action, name: &str, id: &str) -> Result<String, Failure> {
    action.confirms("delete")?;
    let path = format!("/buckets/{}/dead", escaped(name));
    page.api().call(&action.visitor, Method::DELETE, &format!("/v1{path}/{}", escaped(id)), None).await?;
    Ok(format!("{path}?done=deleted&count=1"))
}
