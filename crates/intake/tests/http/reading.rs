/// Pages of buckets.
mod bucket_pages;
/// Jobs by caller and age.
mod filters;
/// What needs an operator.
mod needs;
/// What is to be sent.
mod payloads;

use std::collections::BTreeSet;

use dripfeed_auth::LOOKUPS;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::harness::{Harness, LOG_ALL, buried, delivered, request, settings};

const BATCH: &str = "POST /v1/buckets/b/jobs/batch";

#[tokio::test]
async fn a_job_shows_its_state() {
    let harness = Harness::start().await;
    let waiting = harness.submit("x").await;
    let job = harness.get(&format!("/v1/buckets/b/jobs/{waiting}")).await.json();
    assert!(job["accepted_at"].as_str().unwrap().ends_with('Z'));
    let expected = json!({"id": waiting, "bucket": "b", "state": "waiting", "attempts": 0,
        "accepted_at": job["accepted_at"], "due_at": null, "caller": null, "priority": "normal", "outcome": null});
    assert_eq!(job, expected);

    let replica = harness.replica().await;
    let taken = harness.take(&replica).await;
    let job = harness.get(&format!("/v1/buckets/b/jobs/{waiting}")).await.json();
    assert_eq!((&job["state"], &job["attempts"], &job["consumer"]), (&json!("in_flight"), &json!(1), &json!("east")));

    replica.settle(taken.claim, delivered(201, "text/plain", b"done")).await.unwrap();
    let job = harness.get(&format!("/v1/buckets/b/jobs/{waiting}")).await.json();
    assert_eq!(job["state"], "delivered");
    let outcome = &job["outcome"];
    assert!(outcome["settled_at"].as_str().unwrap().ends_with('Z'));
    let expected = json!({"result": "delivered", "reason": null, "status": 201, "attempts": 1,
        "settled_at": outcome["settled_at"], "body": "done", "content_type": "text/plain", "truncated": false});
    assert_eq!(*outcome, expected);
}

#[tokio::test]
async fn an_invalid_job_id_is_not_found() {
    let harness = Harness::start().await;
    let id = harness.submit("x").await;
    for id in ["1-1", "x", "01-0", "%00", "18446744073709551616-0"] {
        harness.get(&format!("/v1/buckets/b/jobs/{id}")).await.refuses(404, "unknown_job");
    }
    harness.get(&format!("/v1/buckets/other/jobs/{id}")).await.refuses(404, "unknown_job");
}

#[tokio::test]
async fn a_list_is_paginated() {
    let harness = Harness::start().await;
    for n in 0..5 {
        harness.submit(&n.to_string()).await;
    }
    let mut seen = BTreeSet::new();
    let mut path = "/v1/buckets/b/jobs?state=waiting&limit=2".to_owned();
    loop {
        let page = harness.get(&path).await;
        assert_eq!(page.status, 200, "{page:?}");
        let list = page.json();
        let items = list["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        seen.extend(items.iter().map(|job| job["id"].as_str().unwrap().to_owned()));
        let Some(next) = list["next"].as_str() else {
            assert_eq!(page.header("link"), None);
            break;
        };
        path = format!("/v1/buckets/b/jobs?state=waiting&limit=2&cursor={next}");
        assert_eq!(page.header("link").unwrap(), format!("<{path}>; rel=\"next\""));
    }
    assert_eq!(seen.len(), 5);
    assert_eq!(harness.get("/v1/buckets/b/jobs?state=parked").await.json(), json!({"items": [], "next": null}));
}

#[tokio::test]
async fn an_invalid_query_is_refused() {
    let harness = Harness::start().await;
    for n in 0..3 {
        harness.submit(&n.to_string()).await;
    }
    let list = harness.get("/v1/buckets/b/jobs?limit=1").await.json();
    let next = list["next"].as_str().unwrap();
    harness.get(&format!("/v1/buckets/other/jobs?cursor={next}")).await.refuses(422, "bad_query");
    harness.get(&format!("/v1/buckets/b/dead?cursor={next}")).await.refuses(422, "bad_query");
    for query in [
        "jobs?limit=-1",
        "jobs?limit=0",
        "jobs?limit=1000000000",
        "jobs?limit=x",
        "jobs?cursor=x",
        "jobs?cursor=%FF",
        "jobs?state=lost",
        "jobs?stat=waiting",
        "jobs?limit=1&limit=2",
        "outcomes?since=yesterday",
        "outcomes?outcome=lost",
        "dead?status=99",
        "dead?until=x",
        "report?window=1",
        "report?window=0s",
        "report?window=9999d",
        "dead/replays?limit=1",
        "audit?limit=1",
        // The largest id: none comes after it.
        "jobs?cursor=jobs~b~18446744073709551615-18446744073709551615",
        "dead?cursor=dead~b~18446744073709551615-18446744073709551615",
    ] {
        harness.get(&format!("/v1/buckets/b/{query}")).await.refuses(422, "bad_query");
    }
    let problem = harness.get("/v1/buckets/b/jobs?stat=waiting").await.refuses(422, "bad_query");
    assert!(
        problem["detail"].as_str().unwrap().starts_with("stat: unknown parameter `stat`, expected one of"),
        "{problem}"
    );
}

#[tokio::test]
async fn a_bucket_shows_its_level_and_rate() {
    let harness = Harness::start().await;
    harness.submit("x").await;
    harness.submit_with(&[("dripfeed-delay", "1h")], "y").await;
    let replica = harness.replica().await;
    harness.take(&replica).await;
    let bucket = harness.get("/v1/buckets/b").await.json();
    let members = [
        "name",
        "kind",
        "level",
        "capacity",
        "bytes",
        "capacity_bytes",
        "waiting",
        "in_flight",
        "parked",
        "dead",
        "oldest_age_ms",
        "accepted_per_s",
        "refused_per_s",
        "settled_per_s",
        "pace",
        "paused",
        "replicas",
    ];
    for member in members {
        assert!(bucket.get(member).is_some(), "{member} is missing: {bucket}");
    }
    assert_eq!((&bucket["name"], &bucket["kind"], &bucket["level"]), (&json!("b"), &json!("stream"), &json!(2)));
    assert_eq!((&bucket["in_flight"], &bucket["capacity"]), (&json!(1), &json!(10)));
    assert!(bucket["oldest_age_ms"].is_u64());
    assert_eq!(bucket["pace"]["target"], Value::Null);
    let replica = &bucket["replicas"][0];
    assert_eq!((&replica["consumer"], &replica["in_flight"]), (&json!("east"), &json!(1)));
    assert!(replica["since"].is_string() && replica["heartbeat_age_ms"].is_u64(), "{replica}");
    assert_eq!(bucket["totals"]["accepted"], 2);

    let all = harness.get("/v1/buckets").await.json();
    let names: Vec<_> = all["items"].as_array().unwrap().iter().map(|bucket| bucket["name"].clone()).collect();
    assert_eq!(names, ["b", "other"]);
    assert_eq!(all["items"][1]["oldest_age_ms"], Value::Null);
    assert_eq!(all["next"], Value::Null);
    harness.get("/v1/buckets/nope").await.refuses(404, "unknown_bucket");
}

#[tokio::test]
async fn a_bucket_that_cant_be_read_hides_no_other() {
    let harness = Harness::start().await;
    harness.submit("x").await;
    // Its slot moves, or somebody broke it: to the intake it is a refusal of Redis.
    let mut breaking = redis::cmd("SET");
    breaking.arg("dripfeed:{other}:tally").arg("broken");
    harness.store.command::<()>(&breaking).await.unwrap();
    let all = harness.get("/v1/buckets").await;
    assert_eq!(all.status, 200, "{all:?}");
    let items = &all.json()["items"];
    assert_eq!((&items[0]["name"], &items[0]["level"]), (&json!("b"), &json!(1)));
    assert_eq!((&items[1]["name"], &items[1]["kind"]), (&json!("other"), &json!("stream")));
    assert_eq!((&items[1]["error"]["code"], items[1].get("level")), (&json!("store_unavailable"), None));
    assert_eq!(items[1]["error"].get("outcome"), None, "{items}");
    let metrics = String::from_utf8(harness.get("/metrics").await.body.to_vec()).unwrap();
    assert!(metrics.contains(r#"dripfeed_bucket_level{bucket="b"} 1"#), "{metrics}");
    assert!(!metrics.contains(r#"dripfeed_bucket_level{bucket="other"}"#), "{metrics}");

    let mut second = redis::cmd("SET");
    second.arg("dripfeed:{b}:tally").arg("broken");
    harness.store.command::<()>(&second).await.unwrap();
    harness.get("/v1/buckets").await.refuses(503, "store_unavailable");
}

#[tokio::test]
async fn outcomes_are_listed_and_reported() {
    let harness = Harness::start().await;
    let items = "[{\"body\": 1}, {\"body\": 2}, {\"body\": 3}]";
    harness.ask(BATCH, &[("content-type", "application/json")], items).await;
    harness.settle(delivered(200, "text/plain", b"")).await;
    harness.settle(buried("the upstream answered 404", 404)).await;
    let waiting = harness.get("/v1/buckets/b/jobs").await.json()["items"][0]["id"].as_str().unwrap().to_owned();
    harness.ask(&format!("DELETE /v1/buckets/b/jobs/{waiting}"), &[], "").await;

    let all = harness.get("/v1/buckets/b/outcomes?since=2020-01-01T00:00:00Z").await.json();
    let results: Vec<_> = all["items"].as_array().unwrap().iter().map(|job| job["outcome"]["result"].clone()).collect();
    assert_eq!(results, ["delivered", "dead", "cancelled"]);
    let dead = harness.get("/v1/buckets/b/outcomes?outcome=dead").await.json();
    assert_eq!(dead["items"][0]["outcome"]["reason"], "the upstream answered 404");
    assert_eq!(dead["items"].as_array().unwrap().len(), 1);
    assert_eq!(harness.get("/v1/buckets/b/outcomes?since=2100-01-01T00:00:00Z").await.json()["items"], json!([]));

    let report = harness.get("/v1/buckets/b/report?window=1h").await.json();
    assert_eq!(report["counts"], json!({"delivered": 1, "dead": 1, "expired": 0, "cancelled": 1}));
    assert_eq!((&report["window_ms"], &report["attempts"]), (&json!(3_600_000), &json!(2)));
    assert!(report["latency_ms"]["p99"].is_u64());
    let empty = harness.get("/v1/buckets/other/report").await.json();
    assert_eq!(empty["latency_ms"], Value::Null);
}

#[tokio::test]
async fn a_job_is_found_by_its_idempotency_key() {
    let harness = Harness::start().await;
    let id = harness.submit_with(&[("idempotency-key", "order 17")], "x").await;
    let find = async |query: &str| harness.get(&format!("/v1/buckets/b/jobs?{query}")).await;
    let found = find("idempotency_key=order%2017").await.json();
    let items = found["items"].as_array().unwrap();
    assert_eq!((items.len(), &items[0]["id"], &found["next"]), (1, &json!(id), &json!(null)));
    harness.settle(delivered(200, "text/plain", b"")).await;
    assert_eq!(find("idempotency_key=order%2017").await.json()["items"][0]["state"], "delivered");
    for none in ["idempotency_key=order", "idempotency_key=order%2017&caller=shop"] {
        assert_eq!(find(none).await.json(), json!({"items": [], "next": null}), "{none}");
    }
    for (wrong, member) in [
        ("idempotency_key=", "idempotency_key"),
        ("idempotency_key=x&state=waiting", "idempotency_key"),
        ("idempotency_key=x&cursor=jobs~b~1-1", "idempotency_key"),
        ("caller=", "caller"),
    ] {
        assert_eq!(find(wrong).await.refuses(422, "bad_query")["member"], member, "{wrong}");
    }
}

#[tokio::test]
async fn a_lookup_keeps_its_turn_though_its_caller_leaves() {
    let harness = Harness::with(vec![settings("b")], Vec::new(), &LOG_ALL).await;
    for path in ["b/flows", "b/history", "b/doctor"] {
        let path = format!("/v1/buckets/{path}");
        harness.get(&path).await;
        let earlier = harness.scripts_of_bucket().await.len();
        harness.get(&path).await;
        let all = harness.scripts_of_bucket().await;
        // An examination has several.
        let first = &all[all.len() - earlier - 1];
        let begun = async || harness.scripts_of_bucket().await.iter().filter(|script| *script == first).count();
        let before = begun().await;
        harness.redis.pause().unwrap();
        for _ in 0..4 * LOOKUPS {
            let mut answering =
                Box::pin(harness.intake.entry_point().oneshot(request(&format!("GET {path}"), &[], "")));
            // Until it is on its way to Redis, if it has a turn.
            for _ in 0..10 {
                assert!(futures::poll!(answering.as_mut()).is_pending(), "it isn't answered");
                tokio::task::yield_now().await;
            }
        }
        harness.redis.resume().unwrap();
        harness.get(&path).await;
        assert_eq!(begun().await - before, LOOKUPS as usize + 1, "{path}");
    }
}
