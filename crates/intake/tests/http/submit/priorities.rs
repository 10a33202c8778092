use dripfeed_auth::{ApiKey, BucketSet, Scope, ServiceSet};
use dripfeed_bucket::{BucketSettings, Kind};
use dripfeed_job::Priority;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::harness::{Answer, Harness, settings};

const JOBS: &str = "POST /v1/buckets/b/jobs";
const BATCH: &str = "POST /v1/buckets/b/jobs/batch";

fn key(id: &str, priority: Priority) -> ApiKey {
    ApiKey {
        id: id.to_owned(),
        sha256: Sha256::digest(id).into(),
        scopes: vec![Scope::Submit, Scope::Read, Scope::Operate],
        buckets: BucketSet::All,
        services: ServiceSet::All,
        priority,
    }
}

async fn harness() -> Harness {
    let keys = Priority::ALL.map(|priority| key(priority.as_str(), priority));
    let list = BucketSettings { kind: Kind::List, ..settings("list") };
    Harness::with(vec![settings("b"), list], keys.into(), &[]).await
}

async fn submit(harness: &Harness, line: &str, key: &str, priority: Option<&str>) -> Answer {
    let asked = priority.map(|priority| ("dripfeed-priority", priority));
    let headers: Vec<_> = [("dripfeed-key", key)].into_iter().chain(asked).collect();
    harness.ask(line, &headers, "x").await
}

async fn shown(harness: &Harness, admitted: &Answer) -> Value {
    let path = format!("GET {}", admitted.header("location").expect("a job"));
    harness.ask(&path, &[("dripfeed-key", "high")], "").await.json()["priority"].take()
}

#[tokio::test]
async fn a_key_cant_ask_for_more_than_it_may() {
    let harness = harness().await;
    for (key, asked, expected) in [
        ("high", Some("high"), "high"),
        ("high", None, "normal"),
        ("normal", None, "normal"),
        ("normal", Some("low"), "low"),
        ("low", None, "low"),
        ("low", Some("low"), "low"),
    ] {
        let admitted = submit(&harness, JOBS, key, asked).await;
        assert_eq!(admitted.status, 202, "{key} {asked:?}: {admitted:?}");
        assert_eq!(shown(&harness, &admitted).await, expected, "{key} {asked:?}");
    }
    let before = harness.length("b").await;
    for (key, asked) in [("normal", "high"), ("low", "high"), ("low", "normal")] {
        for line in [JOBS, "PUT /v1/buckets/b/proxy/orders"] {
            let problem = submit(&harness, line, key, Some(asked)).await.refuses(403, "forbidden");
            let detail = problem["detail"].as_str().unwrap();
            assert!(
                detail.contains(&format!("priority `{asked}` exceeds the highest priority of this key, `{key}`")),
                "{detail}"
            );
        }
    }
    assert_eq!(harness.length("b").await, before, "nothing of it is stored");
}

#[tokio::test]
async fn each_item_of_a_batch_has_its_priority() {
    let harness = harness().await;
    let items = ["high", "normal", "low"].map(|priority| json!({"body": 1, "options": {"priority": priority}}));
    let headers = [("dripfeed-key", "normal"), ("content-type", "application/json")];
    let judged = harness.ask(BATCH, &headers, json!(items).to_string()).await;
    assert_eq!(judged.status, 207);
    let judged = judged.json();
    assert_eq!(judged["items"][0]["problem"]["code"], "forbidden");
    assert_eq!((&judged["accepted"], &judged["items"][2]["status"]), (&json!(2), &json!(202)));
    let flows = harness.ask("GET /v1/buckets/b/flows", &[("dripfeed-key", "high")], "").await.json();
    let common = json!({"caller": "normal", "waiting": 1, "weight": 1});
    for (at, priority) in ["normal", "low"].into_iter().enumerate() {
        let mut expected = common.clone();
        (expected["priority"], expected["place"]) = (json!(priority), json!(at + 1));
        assert_eq!(flows["items"][at], expected);
    }
    assert_eq!(flows["priorities"][1]["priority"], "low");
    assert!(flows["priorities"][1]["oldest_age_ms"].is_u64(), "{flows}");
}

#[tokio::test]
async fn without_keys_everyone_may_ask_for_all() {
    let harness = Harness::start().await;
    harness.submit_with(&[("dripfeed-priority", "high")], "x").await;
    for wrong in ["", "urgent", "High", "5"] {
        let refused = harness.ask(JOBS, &[("dripfeed-priority", wrong)], "x").await.refuses(422, "bad_option");
        assert_eq!(refused["options"][0]["name"], "dripfeed-priority", "{refused}");
    }
}

#[tokio::test]
async fn where_all_wait_in_one_line_a_priority_is_refused() {
    let harness = harness().await;
    let list = JOBS.replace("/b/", "/list/");
    submit(&harness, &list, "high", Some("high")).await.refuses(422, "unsupported");
    // What it doesn't ask for, it isn't refused for.
    assert_eq!(submit(&harness, &list, "low", None).await.status, 202);
    let by = json!({"fair": {"by": "off"}}).to_string();
    let headers = [("dripfeed-key", "high"), ("content-type", "application/json")];
    assert_eq!(harness.ask("PATCH /v1/buckets/b", &headers, by).await.status, 200);
    assert_eq!(submit(&harness, JOBS, "low", None).await.status, 202);
    for asked in ["high", "low"] {
        let problem = submit(&harness, JOBS, "high", Some(asked)).await.refuses(422, "unsupported");
        assert!(problem["detail"].as_str().unwrap().contains("submit without a priority"), "{problem}");
    }
    assert_eq!(submit(&harness, JOBS, "high", Some("normal")).await.status, 202);
}
