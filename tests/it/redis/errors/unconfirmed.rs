use std::collections::BTreeSet;

use dripfeed_tests::redis_fault_proxy::ProxyFault;
use serde_json::Value;

use super::intake::Harness;

/// A script, a call of the API that it does, and the entry of the audit log if its reply is lost.
const OPERATIONS: [(&str, &str, &str, &str); 13] = [
    ("apply_overrides", "POST /v1/buckets/b/pause", "pause", ""),
    ("apply_overrides", "POST /v1/buckets/b/resume", "resume", ""),
    ("apply_overrides", "PATCH /v1/buckets/b {\"capacity\": 7}", "change", ": capacity: 100000 → 7"),
    ("cancel", "DELETE /v1/buckets/b/jobs/{waiting}", "cancel", ": {id}"),
    ("cancel_many", "POST /v1/buckets/b/jobs/cancel {\"caller\": \"shop\"}", "cancel", ": at least 0 jobs: of shop"),
    ("purge", "POST /v1/buckets/b/purge", "purge", ": at least 0 jobs"),
    ("forget", "DELETE /v1/buckets/other/dead/{dead}", "delete", ": {id}"),
    ("replay", "POST /v1/buckets/other/dead/{dead}/replay", "replay", ": {id}"),
    (
        "start_replay",
        "POST /v1/buckets/other/dead/replays {\"reason\": \"no luck\"}",
        "replay",
        ": a reason with `no luck`",
    ),
    ("switch_schedule", "POST /v1/buckets/b/schedules/{schedule}/pause", "schedule", ": yearly paused"),
    ("end_schedules", "DELETE /v1/buckets/b/schedules/{schedule}", "schedule", ": yearly deleted"),
    ("put_definition", "PUT /v1/buckets/{bucket} {\"upstream\": \"http://127.0.0.1:1/x\"}", "define", ": changed"),
    ("begin_deletion", "DELETE /v1/buckets/{bucket}", "define", ": deleted"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operation_whose_reply_is_lost_is_in_the_audit_log() {
    let harness = Harness::start().await;
    let client = harness.intake.client();
    let mut known = BTreeSet::new();
    for (script, call, action, detail) in OPERATIONS {
        // Once, so that the script's name is known at the proxy.
        if known.insert(script) {
            let as_ever = harness.ask(&client, harness.prepared(call).await).await;
            assert!(as_ever.status < 300, "{call}: {as_ever:?}");
        }
        let (method, path, body) = harness.prepared(call).await;
        let mut parts = path.split('/').skip(3);
        let (bucket, id) = (parts.next().expect("a bucket").to_owned(), parts.nth(1).unwrap_or_default().to_owned());
        harness.proxy.plan(script, ProxyFault::Close, 1);
        let answer = harness.ask(&client, (method, path, body)).await;
        assert_eq!((answer.status, &answer.json()["outcome"]), (503, &"unknown".into()), "{call}: {answer:?}");
        assert!(harness.proxy.has_done(script), "{call} doesn't call {script}");
        let trail = client.get(&format!("/v1/buckets/{bucket}/audit")).await.expect("an answer").json();
        let expected = format!("not confirmed by Redis{}", detail.replace("{id}", &id));
        let entry: &Value = &trail["items"][0];
        assert_eq!(
            (entry["action"].as_str(), entry["detail"].as_str()),
            (Some(action), Some(expected.as_str())),
            "{call}"
        );
    }
}
