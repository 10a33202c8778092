//! `/redis`: the servers, their memory and persistence, problems, and the findings of the doctor.

use axum::extract::{Query, State};
use axum::response::Response;
use maud::{Markup, html};
use serde::Deserialize;

use crate::dashboard::Dashboard;
use crate::model::bucket::ListedBucket;
use crate::model::redis::{Examination, Redis, Server};
use crate::parts::layout::{self, Page};
use crate::parts::{attention, bar, card, listing, numbers, when};
use crate::web::api::escaped;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;

#[derive(Deserialize)]
pub(crate) struct RedisQuery {
    /// The bucket to examine.
    bucket: Option<String>,
}

pub(crate) async fn show(
    State(page): State<Dashboard>,
    visitor: Visitor,
    Query(RedisQuery { bucket }): Query<RedisQuery>,
) -> Response {
    match body(&page, &visitor, bucket.as_deref()).await {
        Ok(body) => layout::show(&visitor, &Page { title: "Redis", section: "/redis", live: None, body }),
        Err(failure) => layout::failed(Some(&visitor), &failure),
    }
}

async fn body(page: &Dashboard, visitor: &Visitor, bucket: Option<&str>) -> Result<Markup, Failure> {
    let redis: Redis = page.api().get(visitor, "/v1/redis").await?;
    let buckets: Vec<ListedBucket> = page.api().list(visitor, "/v1/buckets").await?;
    let examined = match bucket {
        Some(bucket) => {
            let path = format!("/v1/buckets/{}/doctor", escaped(bucket));
            Some((bucket, page.api().get::<Examination>(visitor, &path).await?))
        }
        None => None,
    };
    let names: Vec<String> = buckets.into_iter().map(ListedBucket::into_name).collect();
    Ok(html! {
        h1 { "Redis" }
        (attention::list(attention::of_redis(&redis)))
        dl.tiles.fixed.card {
            (card::tile("durability", &redis.durability, &durability(&redis)))
            (card::tile("worst case", &numbers::bytes(redis.worst_case_bytes), "all buckets full"))
        }
        @for server in &redis.servers { (one(server, redis.worst_case_bytes)) }
        section.card {
            h2 { "Doctor" }
            p.faint { "Checks the invariants of a bucket. It reads all jobs, a few at a time." }
            form.inline method="get" action="/redis" {
                label {
                    "Bucket "
                    select name="bucket" {
                        @for name in &names { option selected[Some(name.as_str()) == bucket] { (name) } }
                    }
                }
                button type="submit" { "Check" }
            }
            @if let Some((bucket, examined)) = &examined { (findings(bucket, examined)) }
        }
    })
}

fn durability(redis: &Redis) -> String {
    if redis.durability == redis.durability_configured {
        return "as configured".to_owned();
    }
    format!("configured: {}", redis.durability_configured)
}

fn one(server: &Server, worst_case: u64) -> Markup {
    let limit = match server.max_memory {
        0 => "maxmemory not set".to_owned(),
        bytes => format!("of maxmemory {}", numbers::bytes(bytes)),
    };
    let used = numbers::bytes(server.used_memory);
    let (log, sync) = if server.append_only {
        ("on", server.append_fsync.as_deref().map_or_else(String::new, |sync| format!("appendfsync {sync}")))
    } else {
        ("off", "appendonly no".to_owned())
    };
    let (most, most_is) = if server.max_memory > 0 {
        (server.max_memory, "maxmemory")
    } else {
        (worst_case.max(server.used_memory), "maximum memory of all buckets")
    };
    html! {
        section.card {
            header { h2 { (server.product) } code { (server.address) } }
            dl.tiles.fixed {
                (card::tile("memory", &used, &limit))
                (card::tile("peak memory", &numbers::bytes(server.peak_memory), "since it started"))
                (card::tile("eviction", &server.eviction, "maxmemory-policy"))
                (card::tile("append-only file", log, &sync))
                (card::tile("replicas", &numbers::count(server.replicas), "connected"))
            }
            (bar::drawn(&format!("memory in use: {used}"), &[("in-flight", server.used_memory)], most))
            p.faint { (used) " of " (numbers::bytes(most)) ", " (most_is) }
            h3 { "Slow commands" }
            (slow(server))
        }
    }
}

fn slow(server: &Server) -> Markup {
    html! {
        @match server.slow_commands.as_deref() {
            None => p.faint {
                "Redis refuses " code { "SLOWLOG GET" } ". Grant the Redis user " code { "+slowlog|get" }
                " and restart the intake to see them."
            },
            Some([]) => p.faint { "None: no command took longer than " code { "slowlog-log-slower-than" } "." },
            Some(commands) => div.scroll tabindex="0" role="region" aria-label="Slow commands" { table {
                (listing::head(&["time", "#took", "command", "script"]))
                tbody { @for command in commands { tr {
                    td { (when::ago(&command.at)) }
                    td.number { (numbers::count(command.took_us)) " µs" }
                    td { code { (command.command) } }
                    td { @match &command.script { Some(name) => code { (name) }, None => "–" } }
                } } }
            } },
        }
    }
}

fn findings(bucket: &str, examined: &Examination) -> Markup {
    html! {
        @if examined.findings.is_empty() { p.fine role="status" { "✓ " (bucket) ": all checked invariants hold." } }
        @else {
            div.scroll tabindex="0" role="region" aria-label="Findings" { table {
                (listing::head(&["#count", "what", "such as", "repair"]))
                tbody { @for found in &examined.findings { tr {
                    td.number { (numbers::count(found.count)) }
                    td { (found.what) }
                    td { code { (found.example.as_deref().unwrap_or("–")) } }
                    td { @match &found.remedy {
                        Some(remedy) => { code { "dripfeed doctor " (bucket) " --repair" } ": " (remedy) },
                        None => "can't be repaired",
                    } }
                } } }
            } }
        }
        @for what in &examined.unchecked { p.faint { "not checked: " (what) } }
    }
}
