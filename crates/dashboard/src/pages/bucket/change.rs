//! `/buckets/{b}/change`: changes settings at run time, with a preview.

use std::collections::BTreeMap;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use super::settings::{self, value};
use crate::dashboard::Dashboard;
use crate::model::bucket::Bucket;
use crate::model::setting::{Setting, shown};
use crate::pages::done::after;
use crate::parts::layout::{self, Page};
use crate::parts::{action, listing};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

type Wanted = BTreeMap<String, String>;

/// A setting, and what it is to be.
struct Change<'s> {
    setting: &'s Setting,
    typed: &'s str,
    to: Value,
}

/// By a link.
pub(crate) async fn linked(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Path(name): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Response {
    previewed(&page, &visitor, &name, &wanted).await
}

/// A document is longer than an address may be.
pub(crate) async fn preview(State(page): State<Dashboard>, Path(name): Path<String>, action: Action) -> Response {
    previewed(&page, &action.visitor, &name, &action.fields).await
}

async fn previewed(page: &Dashboard, visitor: &Visitor, name: &str, wanted: &Wanted) -> Response {
    match body(page, visitor, name, wanted).await {
        Ok(body) => layout::show(visitor, &Page { title: &format!("Change {name}"), section: "/", live: None, body }),
        Err(failure) => layout::failed(Some(visitor), &failure),
    }
}

async fn body(page: &Dashboard, visitor: &Visitor, name: &str, wanted: &Wanted) -> Result<Markup, Failure> {
    let bucket = page.bucket(visitor, name).await?;
    let settings = settings::read(page, visitor, name).await?;
    let mut changes = changes(&settings, wanted)?;
    changes.retain(|change| change.to != change.setting.value);
    let path = format!("/buckets/{name}/change");
    Ok(html! {
        (listing::heading(name, &html! { "Change settings" }, "/change"))
        @if changes.is_empty() {
            p { "Nothing would change: fill in a setting of " a href={ "/buckets/" (name) } { "the bucket" } "." }
        } @else {
            (table(&changes))
            @for note in notes(&bucket, &changes) { p.note { (note) } }
            @if visitor.may("operate") {
                form.actions method="post" action=(path) {
                    (action::token(visitor))
                    @for change in &changes { input type="hidden" name=(change.setting.name) value=(change.typed); }
                    button.primary type="submit" { "Apply" }
                    a.button href={ "/buckets/" (name) } { "Cancel" }
                }
            }
        }
    })
}

fn table(changes: &[Change<'_>]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Settings" { table {
            (listing::head(&["setting", "now", "new"]))
            tbody { @for change in changes {
                tr {
                    th scope="row" { code { (change.setting.name) } }
                    td { (value(&shown(&change.setting.value))) }
                    td { strong { (value(&shown(&change.to))) } }
                }
            } }
        } }
    }
}

/// What was filled in, in the order of the settings.
///
/// # Errors
/// When it can't be sent.
fn changes<'s>(settings: &'s [Setting], wanted: &'s Wanted) -> Result<Vec<Change<'s>>, Failure> {
    let filled = settings.iter().filter_map(|setting| {
        let typed = wanted.get(&setting.name).map(|value| value.trim()).filter(|value| !value.is_empty())?;
        Some((setting, typed))
    });
    let read = |(setting, typed): (&'s Setting, &'s str)| {
        setting
            .parsed(typed)
            .map(|to| Change { setting, typed, to })
            .map_err(|why| Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "Nothing was changed", &why))
    };
    filled.map(read).collect()
}

/// What follows from it.
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
    after(&action.visitor, applied(&page, &action, &name).await)
}

async fn applied(page: &Dashboard, action: &Action, name: &str) -> Result<String, Failure> {
    let settings = settings::read(page, &action.visitor, name).await?;
    let mut patch = Map::new();
    for Change { setting, to, .. } in changes(&settings, &action.fields)? {
        put(&mut patch, &setting.name, to);
    }
    if let Some(setting) = action.field("restore") {
        put(&mut patch, setting, Value::Null);
    }
    let name = escaped(name);
    let path = format!("/v1/buckets/{name}");
    page.api().call(&action.visitor, Method::PATCH, &path, Some(&Value::Object(patch))).await?;
    Ok(format!("/buckets/{name}?done=changed"))
}

/// `leak.rate` is a member of `leak`.
fn put(patch: &mut Map<String, Value>, name: &str, value: Value) {
    match name.split_once('.') {
        Some((section, member)) => {
            let section = patch.entry(section).or_insert_with(|| json!({}));
            if let Some(section) = section.as_object_mut() {
                section.insert(member.to_owned(), value);
            }
        }
        None => {
            patch.insert(name.to_owned(), value);
        }
    }
}
