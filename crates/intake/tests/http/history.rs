use std::time::Duration;

use dripfeed_auth::{ApiKey, BucketSet, Scope, ServiceSet};
use dripfeed_bucket::CallStats;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::harness::Harness;

#[tokio::test]
async fn a_history_has_the_slots_in_which_something_happened() {
    let harness = Harness::start().await;
    let empty = harness.get("/v1/buckets/b/history").await.json();
    assert_eq!((&empty["bucket"], &empty["window"], &empty["slots"]), (&json!("b"), &json!("5m"), &json!([])));
    let mut calls = CallStats::default();
    calls.waited(Duration::from_secs(2));
    calls.answered(Some(429), Duration::from_millis(100));
    calls.answered(None, Duration::from_millis(100));
    calls.retried();
    harness.bucket("b").sample_history(&calls).await.unwrap();
    harness.submit("x").await;
    // A sample is enough for a second.
    let slots = tokio::time::timeout(crate::harness::PATIENCE, async {
        loop {
            harness.bucket("b").sample_history(&CallStats::default()).await.unwrap();
            let hour = harness.get("/v1/buckets/b/history?window=1h").await.json();
            assert_eq!((&hour["window"], &hour["slot_ms"]), (&json!("1h"), &json!(60_000)));
            let slots = hour["slots"].as_array().unwrap().clone();
            if slots.iter().any(|slot| slot["accepted"] == 1) {
                return slots;
            }
        }
    });
    let slots = slots.await.expect("the job is counted");
    // A minute may end meanwhile.
    let sum = |pointer: &str| slots.iter().filter_map(|slot| slot.pointer(pointer)?.as_u64()).sum::<u64>();
    assert_eq!((sum("/calls"), sum("/answers/429"), sum("/answers/none"), sum("/answers/2xx")), (2, 1, 1, 0));
    assert_eq!((sum("/retried"), sum("/refused")), (1, 0));
    let wait = slots[0]["wait_ms"]["p99"].as_u64().unwrap();
    assert!((1900..=2100).contains(&wait), "{slots:?}");
    assert_eq!(slots[0]["total_ms"], json!(null));
    let last = slots.last().unwrap();
    assert_eq!((&last["waiting"], &last["capacity"], &last["target_per_s"]), (&json!(1), &json!(10), &json!(null)));
}

#[tokio::test]
async fn a_history_takes_a_known_window_and_the_scope_read() {
    let harness = Harness::start().await;
    for query in ["window=2h", "window=", "window=5m&window=1h", "slots=5"] {
        harness.get(&format!("/v1/buckets/b/history?{query}")).await.refuses(422, "bad_query");
    }
    harness.get("/v1/buckets/nope/history").await.refuses(404, "unknown_bucket");
    harness.keys.replace([ApiKey {
        id: "tenant".to_owned(),
        sha256: Sha256::digest("secret").into(),
        scopes: vec![Scope::Submit],
        buckets: BucketSet::All,
        services: ServiceSet::All,
        priority: dripfeed_job::Priority::Normal,
    }]);
    let asked = harness.ask("GET /v1/buckets/b/history", &[("dripfeed-key", "secret")], "").await;
    asked.refuses(403, "forbidden");
}
