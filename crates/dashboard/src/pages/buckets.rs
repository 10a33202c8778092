//! `/`: all buckets, after their problems and warnings.

mod listed;
mod live;
mod live_parts;
mod pauses;
mod redis_notices;

use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use futures::future::{join, join_all};
use http::{HeaderMap, Method};
use maud::{Markup, html};

pub(crate) use self::live::events;

use self::listed::Listed;
use self::live_parts::{MOST_CARDS, attention, first_job, of_redis, summary, unavailable};
use self::pauses::{LivePauses, Pauses};
use crate::dashboard::Dashboard;
use crate::model::bucket::Row;
use crate::model::history::History;
use crate::pages::playground;
use crate::parts::layout::{self, Page};
use crate::parts::table::{self, Sparklines, TableQuery};
use crate::parts::{card, drawing, strips, teach, when};
use crate::web::api::escaped;
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
    let (listed, of_redis) = join(listed::read(&page, &visitor), of_redis(&page, &visitor)).await;
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
                (first_job(&visitor, &listed.states))
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

const FIRST_BUCKET: &str =
    "[buckets.orders]\nupstream = \"https://api.example.com/orders\"\nleak = { rate = \"10/s\" }";

/// The buckets as shown by the page, and the path of their live updates.
struct Shown {
    buckets: Markup,
    live: String,
}

async fn shown(page: &Dashboard, visitor: &Visitor, listed: &Listed, query: &TableQuery) -> Shown {
    if listed.count() <= MOST_CARDS {
        let pauses = LivePauses::default().at(page, visitor, &when::now().to_string(), &listed.states).await;
        return Shown { buckets: cards(listed, &pauses), live: live::path(&listed.names(), listed.count()) };
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

fn cards(listed: &Listed, pauses: &Pauses) -> Markup {
    html! {
        @if listed.count() == 0 {
            (teach::empty(&html! {
                p { "No bucket is configured, or your key may see none. A bucket is a section of the configuration:" }
                (teach::command(FIRST_BUCKET))
            }))
        } @else {
            @if listed.count() > 1 { (summary(&listed.summary())) }
            @if listed.count() > 1 { (search()) }
            div.cards {
                @for bucket in &listed.states { (card::of(bucket, pauses.entry_of(bucket))) }
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
