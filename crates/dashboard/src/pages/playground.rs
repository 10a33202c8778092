//! In `dripfeed dev`: buttons that submit jobs and change the mode of the echo upstream.

use axum::extract::{Path, State};
use axum::response::Response;
use http::{Method, StatusCode};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::dashboard::Dashboard;
use crate::model::bucket::Bucket;
use crate::pages::done::after;
use crate::parts::action;
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::form::Action;
use crate::web::identity::Visitor;

const MODES: [&str; 5] = ["normal", "slow", "failing", "throttling", "unreachable"];
const COUNTS: [(&str, &str); 3] = [("1", "Send 1"), ("200", "Send 200"), ("overflow", "Overflow it")];
/// How many more jobs are sent than there is room for.
const OVERFLOW: u64 = 50;
/// Maximum number of jobs per click.
const MOST_JOBS: u64 = 20_000;
const LARGEST_BATCH: usize = 1000;

#[derive(Deserialize)]
struct Upstream {
    mode: String,
}

/// The panel; empty without a playground.
pub(crate) async fn panel(page: &Dashboard, visitor: &Visitor, bucket: Option<&Bucket>) -> Markup {
    let Some(bucket) = bucket.filter(|_| page.has_playground() && visitor.may("submit")) else { return html! {} };
    let upstream = page.api().get::<Upstream>(visitor, "/v1/dev/upstream").await;
    let mode = upstream.map_or_else(|_| String::new(), |upstream| upstream.mode);
    html! {
        section.playground.card aria-labelledby="playground" {
            h2 #playground { "Playground" }
            form.inline method="post" action={ "/buckets/" (bucket.name) "/send" } data-stay {
                (action::token(visitor))
                span.what { "Submit to " strong { (bucket.name) } }
                @for (count, label) in COUNTS { button type="submit" name="count" value=(count) { (label) } }
            }
            @if visitor.may("operate") {
                form.inline method="post" action="/upstream" data-stay data-choice {
                    (action::token(visitor))
                    span.what { "Upstream" }
                    @for one in MODES {
                        @let pressed = if one == mode { "true" } else { "false" };
                        button type="submit" name="mode" value=(one) aria-pressed=(pressed) { (one) }
                    }
                }
            }
        }
    }
}

pub(crate) async fn send(State(page): State<Dashboard>, Path(name): Path<String>, action: Action) -> Response {
    after(&action.visitor, sent(&page, &action, &name).await)
}

async fn sent(page: &Dashboard, action: &Action, name: &str) -> Result<String, Failure> {
    let count = match action.field("count") {
        _ if !page.has_playground() => return Err(Failure::not_found()),
        Some("overflow") => {
            let bucket = page.bucket(&action.visitor, name).await?;
            bucket.capacity.saturating_sub(bucket.level) + OVERFLOW
        }
        count => count.and_then(|count| count.parse().ok()).unwrap_or(1),
    };
    let jobs: Vec<Value> = (1..=count.min(MOST_JOBS)).map(|n| json!({ "body": { "n": n } })).collect();
    for batch in jobs.chunks(LARGEST_BATCH) {
        submit(page, action, name, batch).await?;
    }
    Ok(format!("/buckets/{}", escaped(name)))
}

async fn submit(page: &Dashboard, action: &Action, name: &str, jobs: &[Value]) -> Result<(), Failure> {
    let path = format!("/v1/buckets/{}/jobs/batch", escaped(name));
    match page.api().call(&action.visitor, Method::POST, &path, Some(&json!(jobs))).await {
        // Not an error if the bucket is full, which the page shows.
        Err(failure) if failure.status != StatusCode::TOO_MANY_REQUESTS => Err(failure),
        _ => Ok(()),
    }
}

pub(crate) async fn upstream(State(page): State<Dashboard>, action: Action) -> Response {
    after(&action.visitor, changed(&page, &action).await)
}

async fn changed(page: &Dashboard, action: &Action) -> Result<String, Failure> {
    let mode = json!({ "mode": action.field("mode") });
    page.api().call(&action.visitor, Method::PUT, "/v1/dev/upstream", Some(&mode)).await?;
    Ok("/".to_owned())
}
