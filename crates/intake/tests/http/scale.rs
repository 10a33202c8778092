use std::collections::BTreeSet;

use dripfeed_auth::{ApiKey, BucketSet, Scope, ServiceSet};
use dripfeed_job::Priority;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::harness::{Harness, settings};

/// Two buckets, whose processors make ten calls at once.
async fn harness() -> Harness {
    let harness = Harness::start().await;
    assert_eq!(settings("b").leak.concurrency, 10);
    harness
}

#[tokio::test]
async fn a_scaler_asks_for_one_bucket_or_for_the_most_of_all() {
    let harness = harness().await;
    for (query, slots, replicas) in [("b", 0, 0), ("*", 0, 0)] {
        let scale = harness.get(&format!("/v1/scale?bucket={query}")).await.json();
        assert_eq!(scale, json!({"slots": slots, "replicas": replicas}), "{query}");
    }
    for _ in 0..3 {
        harness.submit("x").await;
    }
    for (query, slots, replicas) in [("b", 3, 1), ("other", 0, 0), ("*", 3, 1)] {
        let scale = harness.get(&format!("/v1/scale?bucket={query}")).await.json();
        assert_eq!(scale, json!({"slots": slots, "replicas": replicas}), "{query}");
    }
}

#[tokio::test]
async fn a_key_scales_only_what_it_may_read() {
    let harness = harness().await;
    harness.submit("x").await;
    harness.keys.replace([ApiKey {
        id: "keda".to_owned(),
        sha256: Sha256::digest("secret").into(),
        scopes: vec![Scope::Read],
        buckets: BucketSet::Named(BTreeSet::from(["other".parse().unwrap()])),
        services: ServiceSet::All,
        priority: Priority::Normal,
    }]);
    let ask = async |query: &str| {
        harness.ask(&format!("GET /v1/scale?bucket={query}"), &[("dripfeed-key", "secret")], "").await
    };
    ask("b").await.refuses(403, "forbidden");
    for theirs in ["other", "*"] {
        assert_eq!(ask(theirs).await.json(), json!({"slots": 0, "replicas": 0}), "{theirs}");
    }
}

#[tokio::test]
async fn what_names_no_bucket_is_refused() {
    let harness = harness().await;
    harness.get("/v1/scale?bucket=nope").await.refuses(404, "unknown_bucket");
    harness.get("/v1/scale").await.refuses(422, "bad_query");
    harness.get("/v1/scale?bucket=b&targetValue=5").await.refuses(422, "bad_query");
}
