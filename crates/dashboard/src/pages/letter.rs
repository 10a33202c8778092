//! `/buckets/{b}/dead/{id}`: one dead letter.

use axum::extract::{Path, State};
use axum::response::Response;
use futures::future::join;
use http::Method;
use maud::{Markup, html};

use crate::dashboard::Dashboard;
use crate::model::job::{DeadLetter, Job, Receipt};
use crate::pages::done::after;
use crate::pages::edit;
use crate::pages::job::answer;
use crate::parts::layout::{self, Page};
use crate::parts::payload::request;
use crate::parts::{action, card, listing, when};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

pub(crate) async fn show(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Path((name, id)): Path<(String, String)>,
) -> Response {
    let path = format!("/buckets/{}/dead/{}", escaped(&name), escaped(&id));
    match page.api().get::<DeadLetter>(&visitor, &format!("/v1{path}")).await {
        Ok(letter) => {
            let payload = request::masked(page.redaction(), letter.payload);
            let letter = DeadLetter { payload, ..letter };
            let around = Around::of(&page, &visitor, &name, &id).await;
            let body = body(&page, &visitor, &name, &path, &letter, &around);
            layout::show(&visitor, &Page { title: &format!("Dead letter {id}"), section: "/", live: None, body })
        }
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

/// What the page shows beside the letter. If it can't be read, the letter is shown all the same.
struct Around {
    is_list: bool,
    /// The outcome of a job may expire before its letter.
    has_timeline: bool,
}

impl Around {
    async fn of(page: &Dashboard, visitor: &Visitor, name: &str, id: &str) -> Self {
        let job = format!("/v1/buckets/{}/jobs/{}", escaped(name), escaped(id));
        let (bucket, job) = join(page.bucket(visitor, name), page.api().get::<Job>(visitor, &job)).await;
        Self { is_list: bucket.is_ok_and(|bucket| bucket.kind == "list"), has_timeline: job.is_ok() }
    }
}

fn body(page: &Dashboard, visitor: &Visitor, name: &str, path: &str, letter: &DeadLetter, around: &Around) -> Markup {
    let attempts = letter.outcome.attempts;
    html! {
        (listing::heading(name, &html! { "Dead letter " code { (letter.id) } }, "/dead"))
        p.note data-mood="bad" {
            strong { "Died " } (when::ago(&letter.died_at)) ": "
            (letter.outcome.reason.as_deref().unwrap_or("no reason"))
        }
        @if visitor.may("operate") {
            div.actions {
                (action::button(visitor, &format!("{path}/replay"), "Replay"))
                // List buckets don't support another payload.
                @if !around.is_list { (edit::form(page.redaction(), visitor, path, letter)) }
                @let what = "Permanently deletes this letter and its payload.";
                (action::confirmed(visitor, &format!("{path}/delete"), "Delete…", what, "delete"))
            }
        }
        dl.numbers.card {
            (card::number("accepted", &when::ago(&letter.accepted_at)))
            (card::number("attempts", &html! {
                @if around.has_timeline {
                    a href={ "/buckets/" (name) "/jobs/" (letter.id) } { (attempts) ", in its timeline" }
                } @else { (attempts) }
            }))
            (card::number("caller", &html! { (letter.caller.as_deref().unwrap_or("none")) }))
            @if let Some(died) = &letter.replay_of { (card::number("edited from", &html! { code { (died) } })) }
        }
        (request::section(page.redaction(), visitor, name, Some(&letter.payload)))
        (answer(page, visitor, &letter.outcome))
    }
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
