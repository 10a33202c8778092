use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use bytes::Bytes;
use dripfeed_client::Client;
use futures::{StreamExt as _, stream};
use serde_json::{Value as Json, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};

use crate::top::feed::{self, FeedEvent};

const TIMES: [&str; 3] = ["2026-11-23T14:03:00Z", "2026-11-23T14:03:09Z", "2026-11-23T14:03:10Z"];

/// An intake that sends a frame for each of `TIMES`, and nothing more. Each query about Redis has another finding.
fn server() -> Router {
    let asked = Arc::new(AtomicUsize::new(0));
    let redis = async move || redis(asked.fetch_add(1, Ordering::Relaxed)).to_string();
    let frames = async || {
        let event = |at: &str| Ok::<_, std::io::Error>(Bytes::from(format!("data: {}\n\n", frame(at))));
        Body::from_stream(stream::iter(TIMES.map(event)).chain(stream::once(pending())))
    };
    Router::new()
        .route("/v1/key", get(async || json!({ "scopes": ["read"], "all_buckets": true }).to_string()))
        .route("/v1/redis", get(redis))
        .route("/v1/events", get(frames))
}

fn redis(before: usize) -> Json {
    let finding = json!({ "severity": "error", "what": format!("finding {before}"), "what_to_do": "look" });
    let server = json!({
        "address": "127.0.0.1:6379", "product": "Redis 7", "used_memory": 1, "peak_memory": 1, "max_memory": 0,
        "eviction": "noeviction", "append_only": true, "append_fsync": "always", "replicas": 0, "findings": [finding],
    });
    json!({
        "servers": [server], "durability_configured": "fsync", "durability": "fsync", "worst_case_bytes": 1,
        "memory_warning": null,
    })
}

fn frame(at: &str) -> Json {
    json!({
        "at": at, "summary": { "buckets": 0, "level": 0, "capacity": 0, "dead": 0, "paused": 0 },
        "columns": [], "buckets": [], "states": [], "unavailable": [],
    })
}

/// A client of these routes.
async fn client(routes: Router) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(axum::serve(listener, routes).into_future());
    Client::new(format!("http://{address}")).unwrap()
}

#[tokio::test]
async fn a_playground_needs_no_memory_as_on_the_page() {
    let redis = async || {
        let mut redis = redis(1);
        redis["memory_warning"] = json!("maxmemory isn't set");
        redis.to_string()
    };
    let routes = || {
        let key = async || json!({ "scopes": ["read"], "all_buckets": true }).to_string();
        Router::new().route("/v1/key", get(key)).route("/v1/redis", get(redis)).route("/v1/events", get(async || ""))
    };
    let playground = routes().route("/v1/dev/upstream", get(async || json!({ "mode": "normal" }).to_string()));
    for (routes, expected) in [(routes(), 2), (playground, 1)] {
        let (installation, _) = feed::open(&client(routes).await, &[]).await.unwrap();
        assert_eq!(installation.of_redis.len(), expected);
    }
}

#[tokio::test]
async fn notices_about_redis_are_current() {
    let (_wanted, wants) = watch::channel(Vec::new());
    let (publish, mut events) = mpsc::channel(1);
    tokio::spawn(feed::run(client(server()).await, wants, publish));
    let expected = ["opened", "finding 1", "frame", "frame", "finding 2", "frame"];
    let mut received = Vec::new();
    while received.len() < expected.len() {
        received.push(match events.recv().await.unwrap() {
            FeedEvent::Opened(_) => "opened".to_owned(),
            FeedEvent::Frame(_) => "frame".to_owned(),
            FeedEvent::OfRedis(notices) => notices[0].what.clone(),
            FeedEvent::Lost { why, .. } => why,
        });
    }
    assert_eq!(received, expected);
}
