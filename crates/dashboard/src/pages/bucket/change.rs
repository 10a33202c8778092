//! `/buckets/{b}/change`: changes settings at run time, with a preview.
//!
//! A form contains the values that it showed. If somebody has changed one of them since, the visitor sees the preview
//! again before anything is applied.

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use maud::{Markup, html};

use super::settings::{self, value};
use super::wanted::{Change, Wanted, changes, query};
use super::{current, patch};
use crate::dashboard::Dashboard;
use crate::model::bucket::Bucket;
use crate::parts::layout::{self, Page, detail};
use crate::parts::{action, listing};
use crate::web::answer;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

/// How often a change is tried if others change the bucket at the same time.
const TRIES: usize = 10;
/// Proxies refuse longer links.
const LONGEST_LINK: usize = 2000;

/// The preview of a link.
pub(crate) async fn linked(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Path(name): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Response {
    previewed(&page, &visitor, &name, &wanted, StatusCode::OK).await
}

/// The preview of a form, which may be too long for a link.
pub(crate) async fn preview(State(page): State<Dashboard>, Path(name): Path<String>, action: Action) -> Response {
    previewed(&page, &action.visitor, &name, &action.fields, StatusCode::OK).await
}

async fn previewed(page: &Dashboard, visitor: &Visitor, name: &str, wanted: &Wanted, status: StatusCode) -> Response {
    match body(page, visitor, name, wanted).await {
        Ok(body) => {
            let page = Page { title: &format!("Change {name}"), section: "/", live: None, body };
            (status, layout::show(visitor, &page)).into_response()
        }
        Err(failure) => layout::failed(Some(visitor), &failure),
    }
}

async fn body(page: &Dashboard, visitor: &Visitor, name: &str, wanted: &Wanted) -> Result<Markup, Failure> {
    let bucket = page.bucket(visitor, name).await?;
    let settings = current::read(page, visitor, name).await?;
    let link = format!("/buckets/{name}/change?{}", query(wanted));
    let mut changes = changes(&settings, wanted)?;
    changes.retain(|change| change.to != change.setting.value);
    let path = format!("/buckets/{name}/change");
    let refusal = if visitor.may("operate") { patch::try_out(page, visitor, name, &changes).await.err() } else { None };
    Ok(html! {
        (listing::heading(name, &html! { "Change settings" }, "/change"))
        // For the page's script, because a browser can neither reload the answer to a form nor go back to it.
        @if link.len() <= LONGEST_LINK { a hidden data-address href=(link) {} }
        @if changes.is_empty() {
            p { "Nothing would change: fill in a setting of " a href={ "/buckets/" (name) } { "the bucket" } "." }
        } @else {
            (conflict(&changes))
            (table(&changes))
            @if let Some(refusal) = &refusal {
                p.note data-mood="bad" role="alert" {
                    strong { (refusal.title) } ". " (detail::sentence(&refusal.detail))
                }
            } @else {
                @for note in notes(&bucket, &changes) { p.note { (note) } }
            }
            @if refusal.is_some() { (corrections(visitor, name, &changes)) }
            @else if visitor.may("operate") {
                form.actions method="post" action=(path) {
                    (action::token(visitor))
                    @for change in &changes { (change.fields()) }
                    button.primary type="submit" { "Apply" }
                    a.button href={ "/buckets/" (name) } { "Cancel" }
                }
                (editors(visitor, name, changes.iter().filter(|change| change.stale.is_some())))
            }
        }
    })
}

/// A note about settings that somebody else has changed since the form was loaded.
fn conflict(changes: &[Change<'_>]) -> Markup {
    let stale = changes.iter().filter(|change| change.stale.is_some());
    let names: Vec<&str> = stale.map(|change| change.setting.name.as_str()).collect();
    html! {
        @if !names.is_empty() {
            p.note data-mood="bad" role="alert" {
                "Changed meanwhile: " (names.join(", ")) ". Nothing of yours is applied yet; Apply replaces what is "
                "there now."
            }
        }
    }
}

/// A form with the refused values.
fn corrections(visitor: &Visitor, name: &str, changes: &[Change<'_>]) -> Markup {
    let typed = changes.iter().filter_map(|change| Some((change.setting, change.typed?)));
    html! {
        @if changes.iter().any(|change| !change.setting.is_document()) { (settings::fields(visitor, name, typed)) }
        (editors(visitor, name, changes.iter()))
    }
}

/// Editors with the typed documents. If somebody else has changed one, both changes can be merged there.
fn editors<'c>(visitor: &Visitor, name: &str, changes: impl Iterator<Item = &'c Change<'c>>) -> Markup {
    html! {
        @for change in changes.filter(|change| change.setting.is_document()) {
            @if let Some(typed) = change.typed { (settings::document(visitor, name, change.setting, typed, true)) }
        }
    }
}

fn table(changes: &[Change<'_>]) -> Markup {
    let is_stale = changes.iter().any(|change| change.stale.is_some());
    let heads: &[&str] = if is_stale { &["setting", "when loaded", "now", "new"] } else { &["setting", "now", "new"] };
    html! {
        div.scroll tabindex="0" role="region" aria-label="Settings" { table {
            (listing::head(heads))
            tbody { @for change in changes {
                @let now = &change.setting.value;
                tr {
                    th scope="row" { code { (change.setting.name) } }
                    @if is_stale { td { (value(&change.setting.shown(change.stale.as_ref().unwrap_or(now)))) } }
                    td { (value(&change.setting.shown(now))) }
                    td { strong { (value(&change.setting.shown(&change.to))) } }
                }
            } }
        } }
    }
}

/// The consequences of the changes.
fn notes(bucket: &Bucket, changes: &[Change<'_>]) -> Vec<String> {
    let capacity =
        changes.iter().find(|change| change.setting.name == "capacity").and_then(|change| change.to.as_u64());
    let mut notes = vec!["Applies at once, on all replicas, also to queued jobs.".to_owned()];
    notes.extend(capacity.filter(|capacity| *capacity < bucket.level).map(|capacity| {
        format!("The level is {}: no job is lost, and new ones are refused until it is below {capacity}.", bucket.level)
    }));
    notes
}

pub(crate) async fn apply(State(page): State<Dashboard>, Path(name): Path<String>, action: Action) -> Response {
    let Action { visitor, fields } = &action;
    match applied(&page, visitor, &name, fields).await {
        Ok(true) => answer::see_other(&format!("/buckets/{}?done=changed", escaped(&name))),
        Ok(false) => previewed(&page, visitor, &name, fields, StatusCode::CONFLICT).await,
        Err(failure) => layout::failed(Some(visitor), &failure),
    }
}

/// Returns false, and applies nothing, if somebody else has changed one of the settings.
async fn applied(page: &Dashboard, visitor: &Visitor, name: &str, wanted: &Wanted) -> Result<bool, Failure> {
    // Tries again if the bucket was changed meanwhile, perhaps in settings that the form doesn't have.
    for _ in 0..TRIES {
        let (settings, version) = current::read_version(page, visitor, name).await?;
        let changes = changes(&settings, wanted)?;
        if changes.iter().any(|change| change.stale.is_some()) {
            return Ok(false);
        }
        if patch::send(page, visitor, name, version, &changes).await? {
            return Ok(true);
        }
    }
    Ok(false)
}
