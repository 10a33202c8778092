#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

/// What others wrote.
mod escaping;
/// The command that submits a first job.
mod first_job;
/// How old what is shown may be.
mod freshness;
/// Dead letters, and their jobs.
mod letters;
/// What limits the calls of a bucket, and what helps.
mod limits;
/// Lists and jobs that somebody looks at.
mod lists;
/// What a page that somebody looks at is sent.
mod live;
/// Why a bucket leaks at another rate than configured.
mod pace;
/// Commands, links and columns.
mod pages;
mod replays;
/// The schedules of a bucket.
mod schedules;
mod services;
mod shortcuts;
/// The numbers of jobs by state.
mod states;
/// The form that tries a request.
mod try_form;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use dripfeed_job::redaction::Redaction;
use futures::executor::block_on;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::{ApiPlace, Dashboard, SessionSecret};

/// Of a visitor without keys.
fn permissions() -> Value {
    json!({ "id": null, "scopes": ["read", "submit", "operate", "inspect"], "all_buckets": true })
}

fn over(api: Router) -> Dashboard {
    Dashboard::new(api, ApiPlace::default(), SessionSecret::new(|| vec![7; 16]), false, Redaction::default())
}

/// An API that sends these frames and nothing more, and has one finding of Redis more each time it is asked.
fn api(frames: &[Value]) -> Router {
    let events: String = frames.iter().map(|frame| format!("event: frame\ndata: {frame}\n\n")).collect();
    let asked = Arc::new(AtomicUsize::new(0));
    Router::new()
        .route("/v1/key", get(async || permissions().to_string()))
        .route("/v1/events", get(async move || events))
        .route("/v1/redis", get(async move || redis(asked.fetch_add(1, Ordering::Relaxed) + 1).to_string()))
}

fn redis(number: usize) -> Value {
    let finding = json!({ "severity": "error", "what": format!("finding {number}"), "what_to_do": "look" });
    json!({
        "servers": [{
            "address": "127.0.0.1:6379", "product": "Redis 7", "used_memory": 1, "peak_memory": 1, "max_memory": 0,
            "eviction": "noeviction", "append_only": true, "append_fsync": "always", "replicas": 0,
            "findings": [finding],
        }],
        "durability_configured": "fsync", "durability": "fsync", "worst_case_bytes": 1, "memory_warning": null,
    })
}

/// An empty bucket.
fn bucket(name: &str, capacity: u64) -> Value {
    json!({
        "name": name, "kind": "stream", "level": 0, "capacity": capacity, "bytes": 0, "capacity_bytes": 1,
        "max_share": null, "limits": [], "waiting": 0, "in_flight": 0, "parked": 0, "dead": 0, "dead_bytes": 0,
        "oldest_age_ms": null, "accepted_per_s": 0.0, "refused_per_s": 0.0, "settled_per_s": 0.0,
        "pace": { "target": null, "effective_per_s": null, "reason": "target", "held_for_ms": null },
        "paused": false, "replicas": [], "changes": {},
        "totals": {
            "accepted": 0, "refused": {}, "ended": {}, "recovered": 0, "dead_dropped": 0, "dead_replayed": 0,
        },
    })
}

/// A frame of no bucket.
fn frame(at: &str) -> Value {
    json!({
        "at": at, "summary": { "buckets": 0, "level": 0, "capacity": 0, "dead": 0, "paused": 0 },
        "columns": [], "buckets": [], "states": [], "unavailable": [],
    })
}

fn asked(page: &Dashboard, path: &str) -> Response<Body> {
    let request = Request::get(path).header("accept", "text/html").body(Body::empty()).unwrap();
    block_on(page.router().oneshot(request)).unwrap()
}

/// With the token of a visitor without a session.
fn submitted(page: &Dashboard, path: &str, fields: &str) -> Response<Body> {
    let form = format!("form_token={}&{fields}", page.sessions().form_token(&HeaderMap::new()));
    let request = Request::post(path).header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    let request = request.header("accept", "text/html").body(Body::from(form)).unwrap();
    block_on(page.router().oneshot(request)).unwrap()
}

fn text(answer: Response<Body>) -> String {
    String::from_utf8(block_on(answer.into_body().collect()).unwrap().to_bytes().to_vec()).unwrap()
}
