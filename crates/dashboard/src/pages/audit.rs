//! `/audit`: the audit logs of all buckets and of the keys.

use std::cmp::Reverse;

use axum::extract::{Query, State};
use axum::response::Response;
use futures::future::join_all;
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;

use crate::dashboard::Dashboard;
use crate::model::List;
use crate::model::audit::AuditEntry;
use crate::model::bucket::ListedBucket;
use crate::parts::layout::{self, Page};
use crate::parts::{listing, numbers, teach, trail};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

/// Maximum number of buckets whose logs are read for one page.
const MOST_LOGS: usize = 64;
const MOST_ENTRIES: usize = 200;

#[derive(Deserialize)]
pub(crate) struct AuditQuery {
    /// Empty for all buckets.
    bucket: Option<String>,
}

/// The entries of several logs.
#[derive(Default)]
struct Logs {
    /// With their buckets; `None` for entries about keys.
    entries: Vec<(Option<String>, AuditEntry)>,
    unreadable: Vec<String>,
}

pub(crate) async fn show(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Query(AuditQuery { bucket }): Query<AuditQuery>,
) -> Response {
    let bucket = bucket.filter(|bucket| !bucket.is_empty());
    match body(&page, &visitor, bucket.as_deref()).await {
        Ok(body) => layout::show(&visitor, &Page { title: "Audit log", section: "/audit", live: None, body }),
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

async fn body(page: &Dashboard, visitor: &Visitor, bucket: Option<&str>) -> Result<Markup, Failure> {
    let buckets: Vec<ListedBucket> = page.api().list(visitor, "/v1/buckets").await?;
    let names: Vec<String> = buckets.into_iter().map(ListedBucket::into_name).collect();
    let mut logs = match bucket {
        Some(bucket) => of_bucket(page, visitor, bucket).await?,
        None => of_all(page, visitor, &names).await?,
    };
    logs.entries.sort_by_key(|(_, entry)| Reverse(entry.at.clone()));
    Ok(html! {
        h1 { "Audit log" }
        (choice(&names, bucket))
        @if bucket.is_none() && names.len() > MOST_LOGS {
            p.note {
                "The logs of the first " (MOST_LOGS) " of " (numbers::count(names.len() as u64))
                " buckets. Choose a bucket to see another one."
            }
        }
        @for name in &logs.unreadable { p.note data-mood="bad" { "The log of " (name) " can't be read now." } }
        @if logs.entries.is_empty() {
            (teach::empty(&nothing(visitor, bucket.or(names.first().map(String::as_str)))))
        } @else { (table(&logs)) }
    })
}

async fn of_bucket(page: &Dashboard, visitor: &Visitor, name: &str) -> Result<Logs, Failure> {
    let list: List<AuditEntry> = page.api().get(visitor, &format!("/v1/buckets/{}/audit", escaped(name))).await?;
    let entries = list.items.into_iter().map(|entry| (Some(name.to_owned()), entry)).collect();
    Ok(Logs { entries, unreadable: Vec::new() })
}

/// Reads the logs of buckets. Those that can't be read are listed by name.
async fn of_all(page: &Dashboard, visitor: &Visitor, names: &[String]) -> Result<Logs, Failure> {
    let read = join_all(names.iter().take(MOST_LOGS).map(|name| of_bucket(page, visitor, name))).await;
    let mut logs = Logs::default();
    for (name, read) in names.iter().zip(read) {
        match read {
            Ok(of_bucket) => logs.entries.extend(of_bucket.entries),
            // Deleted since the list was read.
            Err(failure) if failure.status == StatusCode::NOT_FOUND => {}
            Err(_) => logs.unreadable.push(name.clone()),
        }
    }
    logs.entries.extend(of_keys(page, visitor).await?.into_iter().map(|entry| (None, entry)));
    Ok(logs)
}

/// Reads the log of keys that were created over the API, if the visitor may see it.
async fn of_keys(page: &Dashboard, visitor: &Visitor) -> Result<Vec<AuditEntry>, Failure> {
    // Without a key in the configuration, none can be created.
    if visitor.permissions.id.is_none() || !visitor.may("keys") {
        return Ok(Vec::new());
    }
    page.api().get::<List<AuditEntry>>(visitor, "/v1/audit").await.map(|list| list.items)
}

fn choice(names: &[String], bucket: Option<&str>) -> Markup {
    let deleted = bucket.filter(|bucket| names.iter().all(|name| name != bucket));
    html! {
        form.find method="get" action="/audit" {
            label for="bucket" { "Bucket" }
            select #bucket name="bucket" {
                option value="" { "all" }
                @for name in names { option selected[Some(name.as_str()) == bucket] { (name) } }
                @if let Some(deleted) = deleted { option selected { (deleted) } }
            }
            button type="submit" { "Show" }
        }
        p.faint { "The log of a deleted bucket is kept for 24 hours, at " code { "/audit?bucket=NAME" } "." }
    }
}

fn table(logs: &Logs) -> Markup {
    let others = logs.entries.len().saturating_sub(MOST_ENTRIES);
    html! {
        section.card {
            div.scroll tabindex="0" role="region" aria-label="Audit log" { table {
                (listing::head(&["of", "time", "key", "action", "detail"]))
                tbody { @for (bucket, entry) in logs.entries.iter().take(MOST_ENTRIES) { tr {
                    th scope="row" { @match bucket {
                        Some(bucket) => a href={ "/buckets/" (bucket) } { (bucket) },
                        None => "API keys",
                    } }
                    (trail::cells(entry))
                } } }
            } }
            @let older = numbers::pluralize(others as u64, "older entry", "older entries");
            @if others > 0 { p.faint { "and " (older) } }
        }
    }
}

/// What is listed here, and the command that reads the log of the bucket, or of the first one.
fn nothing(visitor: &Visitor, bucket: Option<&str>) -> Markup {
    html! {
        p { "No changes yet: pauses, settings and purges are listed here, and over the API:" }
        @if let Some(bucket) = bucket { (teach::read(visitor, &format!("/buckets/{bucket}/audit"))) }
    }
}
