/// What it no longer shows.
mod deleted;

use axum::body::{Body, BodyDataStream};
use dripfeed_auth::{ApiKey, BucketSet, Scope, ServiceSet};
use futures::StreamExt as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tower::ServiceExt as _;

use crate::harness::{Harness, PATIENCE, request, settings};

/// A stream of frames, as a client reads it.
struct Frames(BodyDataStream);

impl Frames {
    async fn open(harness: &Harness, path: &str, headers: &[(&str, &str)]) -> Self {
        let request = request(&format!("GET {path}"), headers, Body::empty());
        let answer = harness.intake.router().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        assert_eq!(answer.headers().get("x-accel-buffering").expect("no buffering in nginx"), "no");
        Self(answer.into_body().into_data_stream())
    }

    /// None: the stream has ended.
    async fn next(&mut self) -> Option<Value> {
        let event = tokio::time::timeout(PATIENCE, self.0.next()).await.expect("a frame")?.unwrap();
        let event = std::str::from_utf8(&event).unwrap();
        let data = event.strip_prefix("event: frame\ndata: ").and_then(|event| event.strip_suffix("\n\n"));
        Some(serde_json::from_str(data.unwrap_or_else(|| panic!("{event}"))).unwrap())
    }

    /// The first frame of which this holds.
    async fn until(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let frame = self.next().await.expect("a frame");
            if holds(&frame) {
                return frame;
            }
        }
    }
}

/// A column of a bucket's row.
fn column<'f>(frame: &'f Value, bucket: &str, name: &str) -> &'f Value {
    let columns = frame["columns"].as_array().unwrap();
    let at = columns.iter().position(|column| column == name).unwrap();
    let rows = frame["buckets"].as_array().unwrap();
    &rows.iter().find(|row| row[0] == bucket).unwrap_or_else(|| panic!("{frame}"))[at]
}

/// The names that a column of a bucket's row has the indices of.
fn needs(frame: &Value, bucket: &str, name: &str) -> Value {
    let indices = column(frame, bucket, name).as_array().unwrap().iter();
    indices.map(|index| frame["needs"][usize::try_from(index.as_u64().unwrap()).unwrap()].clone()).collect()
}

fn key(id: &str, bucket: &str) -> ApiKey {
    let buckets = BucketSet::Named([bucket.parse().unwrap()].into());
    let sha256 = Sha256::digest(id).into();
    let priority = dripfeed_job::Priority::Normal;
    ApiKey { id: id.to_owned(), sha256, scopes: vec![Scope::Read], buckets, services: ServiceSet::All, priority }
}

#[tokio::test]
async fn frames_follow_what_happens() {
    let harness = Harness::start().await;
    let mut frames = Frames::open(&harness, "/v1/events?states=b", &[]).await;
    let first = frames.next().await.unwrap();
    assert_eq!((first["summary"]["buckets"].as_u64(), first["summary"]["level"].as_u64()), (Some(2), Some(0)));
    assert_eq!(first["buckets"].as_array().unwrap().len(), 2);
    assert_eq!(first["states"][0], harness.get("/v1/buckets/b").await.json());
    for row in first["buckets"].as_array().unwrap() {
        assert_eq!(row.as_array().unwrap().len(), first["columns"].as_array().unwrap().len());
    }
    harness.submit("x").await;
    harness.post("/v1/buckets/b/pause").await;
    let later = frames.until(|frame| frame["summary"]["paused"] == 1).await;
    assert_eq!((column(&later, "b", "level"), column(&later, "b", "reason")), (&1.into(), &"paused".into()));
    assert_eq!(later["states"].as_array().unwrap().len(), 1);
    let expected = (json!(["no_processor"]), json!(["paused"]));
    assert_eq!((needs(&later, "b", "problems"), needs(&later, "b", "warnings")), expected);
    let state = harness.get("/v1/buckets/b").await.json();
    assert_eq!((state["problems"].clone(), state["warnings"].clone()), expected);
    assert_eq!((&later["attention"]["problems"], &later["attention"]["warnings"]), (&json!(1), &json!(1)));
}

#[tokio::test]
async fn a_frame_has_only_buckets_that_the_key_may_read() {
    let keys = vec![key("tenant", "b"), key("stranger", "nope")];
    let harness = Harness::with(vec![settings("b"), settings("other")], keys, &[]).await;
    let path = "/v1/events?states=b,other";
    let frame = Frames::open(&harness, path, &[("dripfeed-key", "tenant")]).await.next().await.unwrap();
    assert!(!frame.to_string().contains("other"), "{frame}");
    assert_eq!((frame["summary"]["buckets"].as_u64(), &frame["states"][0]["name"]), (Some(1), &"b".into()));
    let frame = Frames::open(&harness, path, &[("dripfeed-key", "stranger")]).await.next().await.unwrap();
    assert_eq!((frame["summary"]["buckets"].as_u64(), frame["buckets"].as_array().unwrap().len()), (Some(0), 0));
}

#[tokio::test]
async fn a_stream_ends_with_its_key_and_with_the_intake() {
    let keys = ["revoked", "narrowed", "kept"].map(|id| key(id, "b"));
    let harness = Harness::with(vec![settings("b")], keys.to_vec(), &[]).await;
    let open = async |id: &str| Frames::open(&harness, "/v1/events", &[("dripfeed-key", id)]).await;
    let (mut revoked, mut narrowed, mut kept) = (open("revoked").await, open("narrowed").await, open("kept").await);
    for stream in [&mut revoked, &mut narrowed, &mut kept] {
        assert!(stream.next().await.is_some());
    }
    harness.keys.replace([ApiKey { scopes: vec![Scope::Submit], ..key("narrowed", "b") }, key("kept", "b")]);
    assert_eq!(revoked.next().await, None);
    assert_eq!(narrowed.next().await, None, "it may not read any more");
    assert!(kept.next().await.is_some());
    harness.health.drain();
    while kept.next().await.is_some() {}
}

#[tokio::test]
async fn streams_are_bounded_and_their_places_come_free() {
    let harness = Harness::start().await;
    let (first, second) =
        (Frames::open(&harness, "/v1/events", &[]).await, Frames::open(&harness, "/v1/events", &[]).await);
    let refused = harness.get("/v1/events").await;
    refused.refuses(429, "many_streams");
    assert!(refused.header("retry-after").is_some());
    drop(first);
    Frames::open(&harness, "/v1/events", &[]).await.next().await.unwrap();
    drop(second);
}

#[tokio::test]
async fn a_stream_takes_the_scope_read() {
    let sender = ApiKey { scopes: vec![Scope::Submit], ..key("sender", "b") };
    let harness = Harness::with(vec![settings("b")], vec![sender], &[]).await;
    harness.ask("GET /v1/events", &[("dripfeed-key", "sender")], "").await.refuses(403, "forbidden");
}

#[tokio::test]
async fn streams_share_one_reading() {
    let harness = Harness::start().await;
    let mut streams = Vec::new();
    for _ in 0..2 {
        streams.push(Frames::open(&harness, "/v1/events", &[]).await);
    }
    let frames = futures::future::join_all(streams.iter_mut().map(Frames::next)).await;
    assert_eq!(frames[0].as_ref().unwrap()["at"], frames[1].as_ref().unwrap()["at"]);
}

#[tokio::test]
async fn a_frame_of_a_thousand_buckets_is_small() {
    let buckets = (0..1000).map(|number| settings(&format!("bucket-{number:04}"))).collect();
    let harness = Harness::with(buckets, Vec::new(), &[]).await;
    // Each has a job that no processor calls.
    for number in 0..1000 {
        let answer = harness.ask(&format!("POST /v1/buckets/bucket-{number:04}/jobs"), &[], "x").await;
        assert_eq!(answer.status, 202, "{answer:?}");
    }
    let mut frames = Frames::open(&harness, "/v1/events", &[]).await;
    let frame = frames.until(|frame| frame["attention"]["problems"] == 1000).await;
    let bytes = frame.to_string().len();
    assert!(bytes < 88_000, "{bytes}");
}

#[tokio::test]
async fn a_bucket_that_cannot_be_read_is_named() {
    let harness = Harness::start().await;
    let mut set = redis::cmd("SET");
    set.arg("dripfeed:{b}:tally").arg("not a hash");
    harness.store.command::<()>(&set).await.unwrap();
    let frame = Frames::open(&harness, "/v1/events", &[]).await.next().await.unwrap();
    assert_eq!((&frame["unavailable"][0], frame["buckets"].as_array().unwrap().len()), (&"b".into(), 1));
}

#[tokio::test]
async fn an_unknown_parameter_or_too_many_states_are_refused() {
    let harness = Harness::start().await;
    harness.get("/v1/events?state=b").await.refuses(422, "bad_query");
    harness.get(&format!("/v1/events?states={}", "b,".repeat(65))).await.refuses(422, "bad_query");
}
