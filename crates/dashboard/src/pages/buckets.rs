//! `/`: all buckets, after their problems and warnings.

mod live;
mod live_parts;
mod redis_notices;

use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use futures::future::{join, join_all};
use http::{HeaderMap, Method};
use maud::{Markup, html};

pub(crate) use self::live::events;

use self::live_parts::{MOST_CARDS, attention, of_redis, summary, unavailable};
use crate::dashboard::Dashboard;
use crate::model::bucket::{Bucket, ListedBucket, Row, Summary};
use crate::model::history::History;
use crate::pages::playground;
use crate::parts::layout::{self, Page};
use crate::parts::table::{self, Sparklines, TableQuery};
use crate::parts::{card, drawing, strips, teach};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;
use crate::web::visitor::wants_page;

pub(crate) async fn show(
    State(page): State<Dashboard>,
    headers: HeaderMap,
    visitor: Result<Visitor, Response>,
    Query(query): Query<TableQuery>,
) -> Response {
    if !wants_page(&headers) {
        return links(&page).await;
    }
    let visitor = match visitor {
        Ok(visitor) => visitor,
        Err(answer) => return answer,
    };
    let (listed, of_redis) = join(listed(&page, &visitor), of_redis(&page, &visitor)).await;
    match listed {
        Ok(listed) => {
            let shown = shown(&page, &visitor, &listed, &query).await;
            let live = Some(shown.live.as_str());
            let first = listed.states.first();
            let body = html! {
                (drawing::shapes())
                h1 { "Buckets" }
                (attention(&listed.rows(), &listed.unavailable, &of_redis))
                (playground::panel(&page, &visitor, first).await)
                (shown.buckets)
                (first_job(&visitor, &listed))
            };
            layout::show(&visitor, &Page { title: "Buckets", section: "/", live, body })
        }
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

/// The response at `/` for programs.
async fn links(page: &Dashboard) -> Response {
    match page.api().send(&Visitor::default(), Method::GET, "/", None).await {
        Ok(answer) => answer.into_response(),
        Err(failure) => layout::failed(None, &failure),
    }
}

/// The command that submits a job, until the first one is accepted.
fn first_job(visitor: &Visitor, listed: &Listed) -> Markup {
    let first = listed.states.first().filter(|_| listed.states.iter().all(|bucket| bucket.totals.accepted == 0));
    html! {
        @if let Some(bucket) = first {
            section.card {
                h2 { "Submit a first job" }
                (teach::submit(visitor, &bucket.name))
            }
        }
    }
}

const FIRST_BUCKET: &str =
    "[buckets.orders]\nupstream = \"https://api.example.com/orders\"\nleak = { rate = \"10/s\" }";

/// The buckets as shown by the page, and the path of their live updates.
struct Shown {
    buckets: Markup,
    live: String,
}

async fn shown(page: &Dashboard, visitor: &Visitor, listed: &Listed, query: &TableQuery) -> Shown {
    if listed.count() <= MOST_CARDS {
        return Shown { buckets: cards(listed), live: live::path(&listed.names(), listed.count()) };
    }
    let selection = query.select(listed.rows());
    let names: Vec<&str> = selection.rows.iter().map(|row| row.name.as_str()).collect();
    let sparklines = sparklines(page, visitor, &selection.rows).await;
    let buckets = html! {
        (summary(&listed.summary()))
        (table::of(query, &selection, &sparklines))
    };
    Shown { buckets, live: live::path(&names, listed.count()) }
}

fn cards(listed: &Listed) -> Markup {
    html! {
        @if listed.count() == 0 {
            section.state {
                p { "No bucket is configured, or your key may see none. A bucket is a section of the configuration:" }
                (teach::command(FIRST_BUCKET))
            }
        } @else {
            @if listed.count() > 1 { (summary(&listed.summary())) }
            @if listed.count() > 3 { (search()) }
            div.cards {
                @for bucket in &listed.states { (card::of(bucket)) }
                @for name in &listed.unavailable { (unavailable(name)) }
            }
            (legend())
        }
    }
}

/// Charts of the last hour, without buckets whose history can't be read.
async fn sparklines(page: &Dashboard, visitor: &Visitor, rows: &[Row]) -> Sparklines {
    let read = rows.iter().map(async |row| {
        let path = format!("/v1/buckets/{}/history?window=1h", escaped(&row.name));
        let history: History = page.api().get(visitor, &path).await.ok()?;
        Some((row.name.clone(), strips::sparkline(&history.or_now(row))))
    });
    join_all(read).await.into_iter().flatten().collect()
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
            span { span.swatch.parked {} "parked until due: delayed, or to be retried" }
            span { span.swatch.waiting {} "waiting for a rate token" }
            span { span.swatch.in-flight {} "in flight: being delivered" }
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

    fn names(&self) -> Vec<&str> {
        let names = self.states.iter().map(|bucket| &bucket.name);
        names.chain(&self.unavailable).map(String::as_str).collect()
    }

    fn summary(&self) -> Summary {
        let mut all = Summary { buckets: self.count() as u64, ..Summary::default() };
        for bucket in &self.states {
            all.level += bucket.level;
            all.capacity += bucket.capacity;
            all.dead += bucket.dead;
            all.buckets_with_dead += u64::from(bucket.dead > 0);
            all.paused += u64::from(bucket.paused);
            all.add_rates(bucket);
        }
        all
    }

    fn rows(&self) -> Vec<Row> {
        self.states.iter().map(Bucket::row).collect()
    }
}

async fn listed(page: &Dashboard, visitor: &Visitor) -> Result<Listed, Failure> {
    let mut listed = Listed { states: Vec::new(), unavailable: Vec::new() };
    for item in page.api().list(visitor, "/v1/buckets").await? {
        match item {
            ListedBucket::State(bucket) => listed.states.push(*bucket),
            ListedBucket::Unavailable { name } => listed.unavailable.push(name),
        }
    }
    Ok(listed)
}
