//! `/`: all buckets, and what needs a person first.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, Method, header};
use maud::{Markup, html};

use crate::dashboard::Dashboard;
use crate::live::{self, Part};
use crate::model::List;
use crate::model::bucket::{Bucket, Frame, ListedBucket, Row};
use crate::model::redis::Redis;
use crate::pages::playground;
use crate::parts::attention::{self, Notice};
use crate::parts::layout::{self, Page};
use crate::parts::{card, drawing, table, teach};
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

/// From this number on a table shows more than drawings.
const MOST_CARDS: usize = 30;

pub(crate) async fn show(
    State(page): State<Dashboard>,
    headers: HeaderMap,
    visitor: Result<Visitor, Response>,
) -> Response {
    if !wants_page(&headers) {
        return links(&page).await;
    }
    let visitor = match visitor {
        Ok(visitor) => visitor,
        Err(answer) => return answer,
    };
    match body(&page, &visitor, &headers).await {
        Ok(body) => {
            let page = Page { title: "Buckets", section: "/", live: Some("/live/buckets"), body };
            layout::show(&visitor, &page)
        }
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

fn wants_page(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    accepted.any(|accept| accept.contains("text/html"))
}

/// What programs get at `/`.
async fn links(page: &Dashboard) -> Response {
    match page.api().send(&Visitor::default(), Method::GET, "/", None).await {
        Ok(answer) => answer.into_response(),
        Err(failure) => layout::failed(None, &failure),
    }
}

async fn body(page: &Dashboard, visitor: &Visitor, headers: &HeaderMap) -> Result<Markup, Failure> {
    let listed = listed(page, visitor).await?;
    let of_redis = of_redis(page, visitor).await;
    let first = listed.states.first();
    Ok(html! {
        (drawing::shapes())
        h1 { "Buckets" }
        (attention(&listed.rows(), &listed.unavailable, &of_redis))
        (playground::panel(page, visitor, first).await)
        @if listed.count() == 0 {
            section.state { p { "No bucket is configured, or your key is for none." } }
        } @else if listed.count() > MOST_CARDS {
            (search())
            (table::of(&listed.rows()))
        } @else {
            @if listed.count() > 3 { (search()) }
            div.cards {
                @for bucket in &listed.states { (card::of(bucket)) }
                @for name in &listed.unavailable { (unavailable(name)) }
            }
            (legend())
        }
        @if let Some(bucket) = first.filter(|_| listed.states.iter().all(|bucket| bucket.totals.accepted == 0)) {
            section.teach {
                h2 { "Submit a first job" }
                (teach::submit(visitor, &teach::address(headers), &bucket.name))
            }
        }
    })
}

fn search() -> Markup {
    html! {
        div.filter hidden {
            label for="search" { "Search" }
            input #search type="search" placeholder="name of a bucket" autocomplete="off" spellcheck="false"
                data-filter;
        }
    }
}

fn legend() -> Markup {
    html! {
        p.legend {
            span { span.swatch.parked {} "parked: due later" }
            span { span.swatch.waiting {} "waiting: for a token" }
            span { span.swatch.in-flight {} "in flight: being called" }
        }
    }
}

fn unavailable(name: &str) -> Markup {
    html! {
        article.card id=(card::id(name)) {
            header { h2 { a href={ "/buckets/" (name) } { (name) } } span.badge data-mood="bad" { "✕ unavailable" } }
            p.why { "Its state can't be read now." }
        }
    }
}

struct Listed {
    states: Vec<Bucket>,
    unavailable: Vec<String>,
}

impl Listed {
    fn count(&self) -> usize {
        self.states.len() + self.unavailable.len()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.states.iter().map(|bucket| bucket.name.clone()).collect();
        names.extend(self.unavailable.iter().cloned());
        names.sort();
        names
    }

    fn rows(&self) -> Vec<Row> {
        self.states.iter().map(Bucket::row).collect()
    }
}

/// `others` are those of Redis.
fn attention(rows: &[Row], unavailable: &[String], others: &[Notice]) -> Markup {
    let states = rows.iter().flat_map(attention::of_bucket);
    let gone = unavailable.iter().map(|name| attention::of_unavailable(name));
    attention::list(others.iter().cloned().chain(states).chain(gone).collect())
}

async fn listed(page: &Dashboard, visitor: &Visitor) -> Result<Listed, Failure> {
    let list: List<ListedBucket> = page.api().get(visitor, "/v1/buckets").await?;
    let mut listed = Listed { states: Vec::new(), unavailable: Vec::new() };
    for item in list.items {
        match item {
            ListedBucket::State(bucket) => listed.states.push(*bucket),
            ListedBucket::Unavailable { name } => listed.unavailable.push(name),
        }
    }
    Ok(listed)
}

/// Only for keys that may see it; that it can't be had is seen by the buckets.
async fn of_redis(page: &Dashboard, visitor: &Visitor) -> Vec<Notice> {
    if !visitor.permissions.all_buckets {
        return Vec::new();
    }
    let redis = page.api().get::<Redis>(visitor, "/v1/redis").await;
    redis.map(|redis| attention::of_redis(&redis)).unwrap_or_default()
}

pub(crate) async fn live(State(page): State<Dashboard>, visitor: Visitor) -> Response {
    match stream(&page, &visitor).await {
        Ok(events) => events,
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

async fn stream(page: &Dashboard, visitor: &Visitor) -> Result<Response, Failure> {
    let names = listed(page, visitor).await?.names();
    let others = of_redis(page, visitor).await;
    if names.len() > MOST_CARDS {
        return live::events(page, visitor, &[], move |frame| rows(frame, &names, &others)).await;
    }
    let states = names.clone();
    live::events(page, visitor, &states, move |frame| cards(frame, &names, &others)).await
}

fn cards(frame: &Frame, names: &[String], others: &[Notice]) -> Option<Vec<Part>> {
    let listed = Listed { states: frame.states.clone(), unavailable: frame.unavailable.clone() };
    if listed.names() != names || frame.rows().len() != listed.states.len() {
        return None;
    }
    let mut parts = vec![notices(frame, &listed.rows(), others)];
    parts.extend(listed.states.iter().map(|bucket| (card::id(&bucket.name), card::of(bucket))));
    parts.extend(listed.unavailable.iter().map(|name| (card::id(name), unavailable(name))));
    Some(parts)
}

fn rows(frame: &Frame, names: &[String], others: &[Notice]) -> Option<Vec<Part>> {
    let rows = frame.rows();
    if rows.len() + frame.unavailable.len() != names.len() {
        return None;
    }
    let mut parts = vec![notices(frame, &rows, others)];
    parts.extend(rows.iter().map(|row| (card::id(&row.name), table::row(row))));
    Some(parts)
}

fn notices(frame: &Frame, rows: &[Row], others: &[Notice]) -> Part {
    ("attention".to_owned(), attention(rows, &frame.unavailable, others))
}
