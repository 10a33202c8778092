use dripfeed_bucket::Settlement;
use serde_json::{Value, json};

use crate::harness::{Harness, buried};

/// The groups without their times, and the letters of others.
async fn groups(harness: &Harness, query: &str) -> (Vec<Value>, u64) {
    let answer = harness.get(&format!("/v1/buckets/b/dead/groups{query}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let answer = answer.json();
    assert_eq!(answer["next"], json!(null));
    let without_times = |group: &Value| json!([group["status"], group["reason"], group["letters"]]);
    (answer["items"].as_array().unwrap().iter().map(without_times).collect(), answer["others"].as_u64().unwrap())
}

async fn bury(harness: &Harness, reason: &str, status: u16) {
    harness.submit("x").await;
    harness.settle(buried(reason, status)).await;
}

#[tokio::test]
async fn all_dead_letters_are_grouped_by_reason_and_status() {
    let harness = Harness::start().await;
    assert_eq!(groups(&harness, "").await, (Vec::new(), 0));
    for (reason, status) in [("gone", 410), ("x", 404), ("gone", 410), ("gone for ever", 410), ("gone", 404)] {
        bury(&harness, reason, status).await;
    }
    let expected =
        [json!([410, "gone", 2]), json!([404, "gone", 1]), json!([404, "x", 1]), json!([410, "gone for ever", 1])];
    assert_eq!(groups(&harness, "").await, (expected.to_vec(), 0));
    assert_eq!(groups(&harness, "?status=404").await, (expected[1..3].to_vec(), 0));
    assert_eq!(groups(&harness, "?reason=gone&exact_reason=true&status=410").await, (expected[..1].to_vec(), 0));
    assert_eq!(groups(&harness, "?caller=nobody").await, (Vec::new(), 0));
    let first = harness.get("/v1/buckets/b/dead/groups?limit=1").await.json();
    assert_eq!((&first["items"][1], &first["others"]), (&json!(null), &json!(3)));
    let group = &first["items"][0];
    assert!(group["first_died_at"].as_str() <= group["last_died_at"].as_str(), "{group}");
    for wrong in ["?limit=0", "?reasn=x", "?status=9", "?cursor=x"] {
        harness.get(&format!("/v1/buckets/b/dead/groups{wrong}")).await.refuses(422, "bad_query");
    }
}

/// Like a letter of a job without any status: no answer came.
async fn bury_unanswered(harness: &Harness, reason: &str) {
    harness.submit("x").await;
    let settlement = Settlement::Bury { reason: reason.to_owned(), status: None, answer: None, called: true };
    harness.settle(settlement).await;
}

#[tokio::test]
async fn a_group_without_a_status_is_selected_without_the_others_of_its_reason() {
    let harness = Harness::start().await;
    bury(&harness, "gone", 410).await;
    for reason in ["gone", "gone", "late", "late"] {
        bury_unanswered(&harness, reason).await;
    }
    let detail = async || harness.get("/v1/buckets/b/audit").await.json()["items"][0]["detail"].clone();
    assert_eq!(groups(&harness, "?status=none").await, (vec![json!([null, "gone", 2]), json!([null, "late", 2])], 0));
    let list = harness.get("/v1/buckets/b/dead?status=none&reason=gone").await.json();
    let statuses: Vec<&Value> =
        list["items"].as_array().unwrap().iter().map(|item| &item["outcome"]["status"]).collect();
    assert_eq!(statuses, [&json!(null); 2]);

    let deleted = harness.ask("DELETE /v1/buckets/b/dead?status=none&reason=gone&exact_reason=true", &[], "").await;
    assert_eq!(deleted.json(), json!({"deleted": 2}));
    assert_eq!(detail().await, "2 dead letters: no answer, the reason `gone`");
    let started = harness.ask("POST /v1/buckets/b/dead/replays", &[], r#"{"status": "none", "rate": "1/h"}"#).await;
    let started = started.json();
    assert_eq!((&started["total"], &started["filter"]["status"]), (&json!(2), &json!("none")));
    let replay = format!("DELETE /v1/buckets/b/dead/replays/{}", started["id"].as_str().unwrap());
    let entries = async || harness.get("/v1/buckets/b/audit").await.json()["items"].as_array().unwrap().len();
    assert_eq!(harness.ask(&replay, &[], "").await.status, 204);
    let before = entries().await;
    assert_eq!(harness.ask(&replay, &[], "").await.status, 204, "it has ended before");
    assert_eq!(entries().await, before, "nothing was done");
    harness.ask("POST /v1/buckets/b/dead/replay", &[], r#"{"status": "none"}"#).await;
    assert_eq!(groups(&harness, "").await, (vec![json!([410, "gone", 1])], 0));

    let refused = harness.get("/v1/buckets/b/dead?status=no").await.refuses(422, "bad_query");
    assert_eq!(refused["detail"], "status: use 100 to 999, or none");
    for wrong in [r#"{"status": "no"}"#, r#"{"status": "410"}"#] {
        harness.ask("POST /v1/buckets/b/dead/replay", &[], wrong).await.refuses(422, "bad_member");
    }
}

/// A script whose variable isn't set must not delete or replay those of all callers.
#[tokio::test]
async fn an_empty_filter_is_refused() {
    let harness = Harness::start().await;
    bury(&harness, "gone", 410).await;
    for query in ["caller=", "caller=&status=410", "status=410&reason=", "reason=&caller=shop"] {
        for line in [format!("DELETE /v1/buckets/b/dead?{query}"), format!("GET /v1/buckets/b/dead/groups?{query}")] {
            let detail = harness.ask(&line, &[], "").await.refuses(422, "bad_query")["detail"].clone();
            assert!(detail.as_str().unwrap().contains(": is empty; give a"), "{line}: {detail}");
        }
    }
    for filter in [r#"{"caller": ""}"#, r#"{"reason": "", "status": 410}"#] {
        for operation in ["replay", "replays"] {
            let line = format!("POST /v1/buckets/b/dead/{operation}");
            harness.ask(&line, &[], filter).await.refuses(422, "bad_member");
        }
    }
    assert_eq!(groups(&harness, "").await, (vec![json!([410, "gone", 1])], 0));
    // Those without any reason.
    assert_eq!(groups(&harness, "?reason=&exact_reason=true").await, (Vec::new(), 0));
}

#[tokio::test]
async fn the_audit_log_names_the_filter_of_what_was_done_with_many() {
    let harness = Harness::start().await;
    for reason in ["gone", "gone", "late"] {
        bury(&harness, reason, 410).await;
    }
    let detail = async || harness.get("/v1/buckets/b/audit").await.json()["items"][0]["detail"].clone();
    let filter = r#"{"reason": "late", "exact_reason": true, "status": 410, "rate": "1000/s"}"#;
    harness.ask("POST /v1/buckets/b/dead/replay", &[], filter).await;
    assert_eq!(detail().await, "1 dead letter: at 1000/s, status 410, the reason `late`");
    let started = harness.ask("POST /v1/buckets/b/dead/replays", &[], r#"{"caller": "nobody"}"#).await.json();
    assert_eq!(detail().await, format!("0 dead letters, as {}: of nobody", started["id"].as_str().unwrap()));
    harness.ask("DELETE /v1/buckets/b/dead?reason=gon&since=2020-01-01T00:00:00Z", &[], "").await;
    assert_eq!(detail().await, "2 dead letters: since 2020-01-01T00:00:00.000Z, a reason with `gon`");
    harness.ask("POST /v1/buckets/b/dead/replay", &[], "").await;
    assert_eq!(detail().await, "0 dead letters: all");
}
