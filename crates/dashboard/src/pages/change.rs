//! `/buckets/{b}/change`: changes settings at run time, with a preview.

use std::collections::BTreeMap;

use axum::extract::{Path, Query, State};
use axum::response::Response;
use http::Method;
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use crate::dashboard::Dashboard;
use crate::model::bucket::Bucket;
use crate::pages::done::after;
use crate::parts::layout::{self, Page};
use crate::parts::{action, listing, numbers};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

/// A setting: its name in PATCH, what it means, and an example.
struct Setting {
    name: &'static str,
    meaning: &'static str,
    example: &'static str,
}

const fn setting(name: &'static str, meaning: &'static str, example: &'static str) -> Setting {
    Setting { name, meaning, example }
}

const SETTINGS: [Setting; 7] = [
    setting("leak.rate", "calls per time, over all processors", "10/s"),
    setting("leak.burst", "calls that may start at once after a quiet time", "10"),
    setting("leak.concurrency", "concurrent calls of each processor", "5"),
    setting("leak.max_in_flight", "concurrent calls of all processors", "20"),
    setting("capacity", "jobs in the bucket", "500"),
    setting("capacity_bytes", "bytes of these jobs", "32MiB"),
    setting("max_share", "of the capacity, for one caller", "25%"),
];

/// On the bucket's page.
pub(crate) fn form(bucket: &Bucket) -> Markup {
    html! {
        section.card {
            h2 { "Settings" }
            p.faint { "Fill in the settings to change. A preview is shown before anything changes." }
            form.settings method="get" action={ "/buckets/" (bucket.name) "/change" } {
                @for setting in &SETTINGS {
                    label {
                        code { (setting.name) } " "
                        span.faint { (setting.meaning) }
                        input name=(setting.name) placeholder=(placeholder(bucket, setting)) autocomplete="off"
                            spellcheck="false";
                    }
                }
                button.primary type="submit" { "Preview" }
            }
        }
    }
}

fn placeholder(bucket: &Bucket, setting: &Setting) -> String {
    now(bucket, setting.name).unwrap_or_else(|| format!("as configured; such as {}", setting.example))
}

/// The value in force, where the API shows it.
fn now(bucket: &Bucket, name: &str) -> Option<String> {
    let changed = bucket.changes.pointer(&format!("/{}", name.replace('.', "/")));
    match (name, changed) {
        ("capacity", _) => Some(bucket.capacity.to_string()),
        ("capacity_bytes", _) => Some(numbers::bytes(bucket.capacity_bytes)),
        ("max_share", _) => Some(bucket.max_share.clone().unwrap_or_else(|| "no limit".to_owned())),
        (_, Some(Value::String(text))) => Some(text.clone()),
        (_, Some(other)) => Some(other.to_string()),
        ("leak.rate", None) => Some(bucket.pace.target.clone().unwrap_or_else(|| "no limit".to_owned())),
        _ => None,
    }
}

type Wanted = BTreeMap<String, String>;

pub(crate) async fn preview(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Path(name): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Response {
    match page.bucket(&visitor, &name).await {
        Ok(bucket) => {
            let body = previewed(&visitor, &bucket, &known(&wanted));
            layout::show(&visitor, &Page { title: &format!("Change {name}"), section: "/", live: None, body })
        }
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

/// What was filled in, in the order of the table.
fn known(wanted: &Wanted) -> Vec<(&'static str, String)> {
    let filled = |setting: &Setting| {
        let value = wanted.get(setting.name).map(|value| value.trim()).filter(|value| !value.is_empty())?;
        Some((setting.name, value.to_owned()))
    };
    SETTINGS.iter().filter_map(filled).collect()
}

fn previewed(visitor: &Visitor, bucket: &Bucket, wanted: &[(&'static str, String)]) -> Markup {
    let path = format!("/buckets/{}/change", bucket.name);
    html! {
        (listing::heading(&bucket.name, &html! { "Change settings" }, "/change"))
        @if wanted.is_empty() {
            p { "Nothing was filled in, so nothing would change." }
        } @else {
            div.scroll tabindex="0" role="region" aria-label="Settings" { table {
                (listing::head(&["setting", "now", "new"]))
                tbody { @for (name, value) in wanted {
                    tr {
                        th scope="row" { code { (name) } }
                        td { (now(bucket, name).unwrap_or_else(|| "as configured".to_owned())) }
                        td { strong { (value) } }
                    }
                } }
            } }
            @for note in notes(bucket, wanted) { p.note { (note) } }
            @if visitor.may("operate") {
                form.actions method="post" action=(path) {
                    (action::token(visitor))
                    @for (name, value) in wanted { input type="hidden" name=(name) value=(value); }
                    button.primary type="submit" { "Apply" }
                    a.button href={ "/buckets/" (bucket.name) } { "Cancel" }
                }
            }
        }
        @let changed = changed(bucket);
        @if !changed.is_empty() && visitor.may("operate") {
            section {
                h2 { "Changed at run time" }
                @for name in changed {
                    form.inline method="post" action=(path) {
                        (action::token(visitor))
                        input type="hidden" name="restore" value=(name);
                        button type="submit" { "Restore " (name) }
                    }
                }
            }
        }
    }
}

fn changed(bucket: &Bucket) -> Vec<&'static str> {
    let is_changed = |name: &str| bucket.changes.pointer(&format!("/{}", name.replace('.', "/"))).is_some();
    SETTINGS.iter().map(|setting| setting.name).filter(|name| is_changed(name)).collect()
}

/// What follows from it.
fn notes(bucket: &Bucket, wanted: &[(&'static str, String)]) -> Vec<String> {
    let capacity = wanted.iter().find(|(name, _)| *name == "capacity").and_then(|(_, value)| value.parse::<u64>().ok());
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
    let mut patch = Map::new();
    for (setting, value) in known(&action.fields) {
        put(&mut patch, setting, value.parse::<u64>().map_or_else(|_| json!(value), |number| json!(number)));
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
