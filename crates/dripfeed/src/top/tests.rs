#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

/// Drawing each state.
mod drawing;
/// Receiving the event stream.
mod feed;
/// Keyboard input.
mod keys;
/// The first second.
mod starting;

use std::time::{Duration, Instant};

use dripfeed_dashboard::frame::Frame;
use serde_json::{Value as Json, json};

use super::app::App;
use super::feed::{FeedEvent, Installation};

/// The names of the problems and warnings in these tests.
const NEEDS: [&str; 5] = ["no_processor", "refusing", "paused", "throttled", "dead_letters"];

/// A bucket in JSON of the API. `differs` replaces members of a bucket that leaks 10 jobs a second.
fn bucket(name: &str, differs: &Json) -> Json {
    let mut bucket = json!({
        "name": name, "kind": "stream", "level": 340, "capacity": 1000, "bytes": 87_040, "capacity_bytes": 67_108_864,
        "max_share": null, "limits": [], "waiting": 300, "in_flight": 12, "parked": 28, "dead": 0, "dead_bytes": 0,
        "oldest_age_ms": 31_000, "accepted_per_s": 12.0, "refused_per_s": 0.0, "settled_per_s": 9.8,
        "pace": { "target": "10/s", "effective_per_s": 10.0, "reason": "target", "held_for_ms": null },
        "paused": false, "replicas": [{ "consumer": "vm-17-abc", "in_flight": 12 }],
        "totals": {
            "accepted": 12_345, "refused": { "bucket_full": 17 }, "ended": { "delivered": 12_000, "dead": 5 },
            "recovered": 0, "dead_dropped": 0, "dead_replayed": 0,
        },
        "problems": [], "warnings": [], "changes": {},
    });
    for (member, value) in differs.as_object().unwrap() {
        bucket[member] = value.clone();
    }
    bucket
}

/// A frame with rows and whole states of these buckets.
fn frame(second: u8, buckets: &[Json]) -> Frame {
    serde_json::from_value(event(second, buckets)).unwrap()
}

/// A frame for too many buckets: it has rows only of those that need an operator, which are these.
fn of_many(second: u8, urgent: &[Json]) -> Frame {
    let mut event = event(second, urgent);
    event["attention"]["buckets"] = event["buckets"].take();
    (event["buckets"], event["states"]) = (json!([]), json!([]));
    serde_json::from_value(event).unwrap()
}

fn event(second: u8, buckets: &[Json]) -> Json {
    let columns = [
        "/name",
        "/level",
        "/capacity",
        "/waiting",
        "/in_flight",
        "/parked",
        "/dead",
        "/oldest_age_ms",
        "/accepted_per_s",
        "/refused_per_s",
        "/settled_per_s",
        "/pace/effective_per_s",
        "/pace/reason",
        "/pace/held_for_ms",
        "/paused",
        "/problems",
        "/warnings",
    ];
    let index = |need: &Json| NEEDS.iter().position(|name| need == name).unwrap();
    let indices = |needs: &Json| needs.as_array().unwrap().iter().map(index).collect::<Json>();
    let row = |bucket: &Json| -> Json {
        let values = columns.iter().map(|column| match *column {
            "/problems" | "/warnings" => indices(&bucket[&column[1..]]),
            _ => bucket.pointer(column).unwrap().clone(),
        });
        values.chain([json!(bucket["replicas"].as_array().unwrap().len())]).collect()
    };
    let names = columns.iter().map(|column| column.rsplit('/').next().unwrap()).chain(["replicas"]);
    let sum = |member: &str| buckets.iter().map(|bucket| bucket[member].as_u64().unwrap()).sum::<u64>();
    let count = |member: &str| buckets.iter().map(|bucket| bucket[member].as_array().unwrap().len()).sum::<usize>();
    let paused = buckets.iter().filter(|bucket| bucket["paused"] == true).count();
    json!({
        "at": format!("2026-11-23T14:03:{second:02}.120Z"),
        "summary": {
            "buckets": buckets.len(), "level": sum("level"), "capacity": sum("capacity"), "dead": sum("dead"),
            "paused": paused,
        },
        "columns": names.collect::<Vec<_>>(),
        "needs": NEEDS,
        "buckets": buckets.iter().map(row).collect::<Vec<_>>(),
        "states": buckets,
        "unavailable": [],
        "attention": { "problems": count("problems"), "warnings": count("warnings"), "buckets": [] },
    })
}

/// An app that shows these buckets, with a key that may operate.
fn looking_at(buckets: &[Json]) -> (App, Instant) {
    let mut app = App::new("http://127.0.0.1:7180".to_owned(), Vec::new(), operator());
    let now = Instant::now();
    app.receive(FeedEvent::Frame(Box::new(frame(20, buckets))), now);
    (app, now)
}

fn operator() -> Installation {
    Installation { may_operate: true, may_see_redis: true, is_playground: false, of_redis: Vec::new() }
}

fn lost(why: &str, forbidden: bool) -> FeedEvent {
    FeedEvent::Lost { why: why.to_owned(), forbidden, retry_in: Duration::from_secs(4) }
}
