//! Keys that are revoked or changed while a request is on its way.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use dripfeed_auth::{ApiKey, ApiKeys, Scope};
use futures::{StreamExt as _, stream};

use super::{JOBS, key};
use crate::harness::{Harness, delivered, settings};

const BATCH: &str = "POST /v1/buckets/b/jobs/batch";

async fn harness() -> Harness {
    Harness::with(vec![settings("b")], vec![owner(), key("other", &[Scope::Read], None)], &[]).await
}

/// It may do everything.
fn owner() -> ApiKey {
    key("owner", &Scope::ALL, None)
}

/// The same key, with less.
fn narrowed() -> ApiKey {
    key("owner", &[Scope::Read, Scope::Submit], None)
}

const OWNER: (&str, &str) = ("dripfeed-key", "owner");

/// A body of which the last part comes after the keys have become these.
fn body_around(parts: [&'static str; 2], keys: &Arc<ApiKeys>, after: Vec<ApiKey>) -> Body {
    let keys = Arc::clone(keys);
    let [first, last] = parts;
    let last = async move {
        tokio::task::yield_now().await;
        keys.replace(after);
        last
    };
    Body::from_stream(stream::iter([first]).chain(stream::once(last)).map(Ok::<_, Infallible>))
}

#[tokio::test]
async fn a_key_that_is_revoked_before_the_body_has_come_changes_nothing() {
    let harness = harness().await;
    let json = ("content-type", "application/json");
    for (line, parts) in [
        (JOBS, ["{\"a\":", "1}"]),
        (BATCH, ["[{\"body\":1", "}]"]),
        ("POST /v1/buckets/b/proxy/x", ["a", "b"]),
        ("PATCH /v1/buckets/b", ["{\"capacity\":", "1}"]),
        ("POST /v1/buckets/b/pause", ["", " "]),
        ("PUT /v1/buckets/b/schedules/s", ["{\"every\":\"1h\",", "\"job\":{\"body\":1}}"]),
        ("POST /v1/buckets/b/dead/replay", ["{", "}"]),
    ] {
        for after in [Vec::from([key("other", &[Scope::Read], None)]), vec![narrowed()]] {
            harness.keys.replace([owner()]);
            let body = body_around(parts, &harness.keys, after);
            let problem = harness.ask(line, &[OWNER, json], body).await.refuses(401, "unauthenticated");
            assert!(problem["detail"].as_str().unwrap().contains("revoked or changed"), "{line}: {problem}");
        }
    }
    harness.keys.replace([owner()]);
    assert_eq!(harness.length("b").await, 0);
    let state = harness.ask("GET /v1/buckets/b", &[OWNER], "").await.json();
    assert_eq!((&state["capacity"], &state["paused"]), (&10.into(), &false.into()), "{state}");
    // Others that come and go are no reason.
    let body = body_around(["{\"a\":", "1}"], &harness.keys, vec![owner(), key("other", &[Scope::Submit], None)]);
    assert_eq!(harness.ask(JOBS, &[OWNER, json], body).await.status, 202);
}

#[tokio::test]
async fn a_key_that_is_revoked_during_a_wait_sees_no_answer() {
    let harness = harness().await;
    let wait = ("prefer", "wait=20");
    let headers = [OWNER, wait];
    let (answer, _) = tokio::join!(harness.ask(JOBS, &headers, "x"), async {
        while harness.registered("b").await < 1 {}
        harness.keys.replace([key("other", &[Scope::Read], None)]);
        harness.settle(delivered(200, "text/plain", b"secret")).await
    });
    assert_eq!((answer.status.as_u16(), answer.json()["level"].as_u64()), (202, Some(1)), "{answer:?}");

    harness.keys.replace([owner()]);
    let id = harness.ask(JOBS, &[OWNER], "y").await.json()["id"].as_str().unwrap().to_owned();
    let (answer, _) =
        tokio::join!(async { harness.ask(&format!("GET /v1/buckets/b/jobs/{id}"), &[OWNER, wait], "").await }, async {
            while harness.registered("b").await < 1 {}
            harness.keys.replace([narrowed()]);
            harness.settle(delivered(200, "text/plain", b"secret")).await
        });
    answer.refuses(401, "unauthenticated");
}
