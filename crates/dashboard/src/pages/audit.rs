//! `/audit`: the audit logs of all buckets, of the rules of services, and of the keys.

mod logs;

use axum::extract::{Query, State};
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;

use self::logs::{Logs, MOST_LOGS, Subject};
use crate::dashboard::Dashboard;
use crate::model::bucket::ListedBucket;
use crate::parts::layout::{self, Page};
use crate::parts::{listing, numbers, teach, trail};
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

const MOST_ENTRIES: usize = 200;

#[derive(Deserialize)]
pub(crate) struct AuditQuery {
    /// Empty for all buckets.
    bucket: Option<String>,
    service: Option<String>,
}

pub(crate) async fn show(State(page): State<Dashboard>, visitor: Visitor, Query(query): Query<AuditQuery>) -> Response {
    let bucket = query.bucket.filter(|bucket| !bucket.is_empty());
    let body = match query.service {
        Some(service) if bucket.is_none() => of_service(&page, &visitor, &service).await,
        _ => of_buckets(&page, &visitor, bucket.as_deref()).await,
    };
    match body {
        Ok(body) => layout::show(&visitor, &Page { title: "Audit log", section: "/audit", live: None, body }),
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

async fn of_buckets(page: &Dashboard, visitor: &Visitor, bucket: Option<&str>) -> Result<Markup, Failure> {
    let buckets: Vec<ListedBucket> = page.api().list(visitor, "/v1/buckets").await?;
    let names: Vec<String> = buckets.into_iter().map(ListedBucket::into_name).collect();
    let logs = match bucket {
        Some(bucket) => Logs::of_bucket(page, visitor, bucket).await?,
        None => Logs::of_all(page, visitor, &names).await?,
    };
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

async fn of_service(page: &Dashboard, visitor: &Visitor, service: &str) -> Result<Markup, Failure> {
    let logs = Logs::of_service(page, visitor, service).await?;
    let query = listing::query(&[("service", Some(service))]);
    Ok(html! {
        h1 { "Audit log" }
        p { "Rules of the service " (link_to_service(service)) " · " a href="/audit" { "all" } }
        @if logs.entries.is_empty() {
            (teach::empty(&html! {
                p { "No changes of its rules are known. They are listed here, and over the API:" }
                (teach::read(visitor, &format!("/services/audit{query}")))
            }))
        } @else { (table(&logs)) }
    })
}

fn link_to_service(service: &str) -> Markup {
    html! { a href={ "/services#service-" (service) } { (service) } }
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
                tbody { @for (subject, entry) in logs.entries.iter().take(MOST_ENTRIES) { tr {
                    th scope="row" { @match subject {
                        Subject::Bucket(bucket) => a href={ "/buckets/" (bucket) } { (bucket) },
                        Subject::Service(service) => { "service " (link_to_service(service)) },
                        Subject::Keys => "API keys",
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
