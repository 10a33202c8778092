use dripfeed_bucket::{BucketSettings, Fair, FairBy, Kind};
use serde_json::json;

use crate::harness::{Harness, settings};

const JOBS: &str = "POST /v1/buckets/b/jobs";
const BATCH: &str = "POST /v1/buckets/b/jobs/batch";

async fn harness() -> Harness {
    let fair = Fair { by: FairBy::Group, ..Fair::default() };
    let list = BucketSettings { kind: Kind::List, ..settings("list") };
    Harness::with(vec![BucketSettings { fair, ..settings("b") }, settings("other"), list], Vec::new(), &[]).await
}

#[tokio::test]
async fn a_job_waits_for_the_turns_of_its_group() {
    let harness = harness().await;
    let id = harness.submit_with(&[("dripfeed-group", "tenant-17")], "x").await;
    assert_eq!(harness.get(&format!("/v1/buckets/b/jobs/{id}")).await.json()["group"], "tenant-17");
    let items = json!([{"body": 1, "options": {"group": "tenant-18"}}, {"body": 2}]).to_string();
    let judged = harness.ask(BATCH, &[("content-type", "application/json")], items).await;
    assert_eq!(judged.status, 202, "{judged:?}");
    let flows = harness.get("/v1/buckets/b/flows").await.json();
    assert_eq!(flows["by"], "group");
    let nobody = json!({"caller": null, "priority": "normal", "waiting": 1, "weight": 1, "place": 3});
    let item = |group: &str, place: u64| {
        let mut item = nobody.clone();
        (item["group"], item["place"]) = (json!(group), json!(place));
        item
    };
    assert_eq!(flows["items"], json!([item("tenant-17", 1), item("tenant-18", 2), nobody]));
}

#[tokio::test]
async fn a_group_that_would_be_ignored_is_refused() {
    let harness = harness().await;
    for wrong in ["", "a b", &"x".repeat(65)] {
        harness.ask(JOBS, &[("dripfeed-group", wrong)], "x").await.refuses(422, "bad_option");
    }
    for (bucket, expected) in [("other", "submit without a group"), ("list", "doesn't support fair queuing by group")] {
        let line = JOBS.replace("/b/", &format!("/{bucket}/"));
        let problem = harness.ask(&line, &[("dripfeed-group", "eu")], "x").await.refuses(422, "unsupported");
        assert!(problem["detail"].as_str().unwrap().contains(expected), "{problem}");
        assert_eq!(harness.length(bucket).await, 0);
    }
}

#[tokio::test]
async fn a_list_refuses_each_setting_of_fair_queuing_because_it_is_a_list() {
    let harness = harness().await;
    for fair in [
        json!({ "by": "group" }),
        json!({ "weights": { "eu": 4 } }),
        json!({ "rate": "5/s" }),
        json!({ "flows": { "eu": { "paused": true } } }),
    ] {
        let body = json!({ "fair": fair }).to_string();
        let problem = harness.ask("PATCH /v1/buckets/list", &[], body).await.refuses(422, "unsupported");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("a bucket of kind `list` doesn't support fair queuing"), "{fair}: {problem}");
    }
}
