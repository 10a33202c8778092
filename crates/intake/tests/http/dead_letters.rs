/// By reason and status.
mod groups;

use dripfeed_tests::service::until;
use serde_json::json;

use crate::harness::{Harness, buried, delivered};

#[tokio::test]
async fn a_dead_letter_has_its_payload_and_outcome() {
    let harness = Harness::start().await;
    let id = harness.submit_with(&[("content-type", "text/plain")], "hello").await;
    harness.settle(buried("the upstream answered 410", 410)).await;
    let letter = harness.get(&format!("/v1/buckets/b/dead/{id}")).await.json();
    assert_eq!(
        (&letter["id"], &letter["body"], &letter["content_type"]),
        (&json!(id), &json!("hello"), &json!("text/plain"))
    );
    assert_eq!((&letter["outcome"]["result"], &letter["outcome"]["status"]), (&json!("dead"), &json!(410)));
    assert!(letter["died_at"].is_string() && letter["accepted_at"].is_string());
    let list = harness.get("/v1/buckets/b/dead").await.json();
    assert_eq!(list, json!({"items": [letter], "next": null}));

    harness.ask("POST /v1/buckets/b/jobs", &[], vec![0xff]).await;
    let bytes = harness.settle(buried("x", 400)).await;
    let letter = harness.get(&format!("/v1/buckets/b/dead/{}", bytes.id)).await.json();
    assert_eq!((&letter["body_base64"], letter.get("body")), (&json!("/w=="), None));
}

#[tokio::test]
async fn dead_letters_are_filtered() {
    let harness = Harness::start().await;
    for status in [404, 410] {
        harness.submit("x").await;
        harness.settle(buried(&format!("the upstream answered {status}"), status)).await;
    }
    let count = async |query: &str| {
        let list = harness.get(&format!("/v1/buckets/b/dead?{query}")).await.json();
        list["items"].as_array().unwrap().len()
    };
    assert_eq!(count("").await, 2);
    assert_eq!(count("status=404").await, 1);
    assert_eq!(count("reason=answered%20410").await, 1);
    assert_eq!(count("since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z").await, 0);
    assert_eq!(count("caller=nobody").await, 0);
}

#[tokio::test]
async fn a_replay_is_a_new_job_within_capacity() {
    let harness = Harness::start().await;
    let id = harness.submit("again").await;
    harness.settle(buried("x", 404)).await;
    let answer = harness.post(&format!("/v1/buckets/b/dead/{id}/replay")).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let new = answer.json()["id"].as_str().unwrap().to_owned();
    assert_ne!(new, id);
    assert_eq!(answer.header("location"), Some(format!("/v1/buckets/b/jobs/{new}").as_str()));
    assert_eq!(harness.settle(delivered(200, "text/plain", b"")).await.body, "again");
    harness.post(&format!("/v1/buckets/b/dead/{id}/replay")).await.refuses(404, "unknown_job");

    harness.submit("full").await;
    let dead = harness.settle(buried("x", 404)).await.id;
    for n in 0..10 {
        harness.submit(&n.to_string()).await;
    }
    harness.post(&format!("/v1/buckets/b/dead/{dead}/replay")).await.refuses(429, "bucket_full");
}

#[tokio::test]
async fn many_dead_letters_are_replayed_by_filter() {
    let harness = Harness::start().await;
    for status in [404, 404, 410] {
        harness.submit("x").await;
        harness.settle(buried("x", status)).await;
    }
    let replay = async |body: &'static str| harness.ask("POST /v1/buckets/b/dead/replay", &[], body).await;
    let done = replay(r#"{"status": 404, "rate": "1000/s"}"#).await;
    assert_eq!((done.status.as_u16(), done.json()), (200, json!({"replayed": 2, "left": 0})));
    assert_eq!(replay("").await.json(), json!({"replayed": 1, "left": 0}));
    replay(r#"{"stat": 404}"#).await.refuses(422, "bad_member");
    replay(r#"{"rate": "10"}"#).await.refuses(422, "bad_member");
    replay(r#"{"status": 99}"#).await.refuses(422, "bad_member");
    replay(r#"{"since": "x"}"#).await.refuses(422, "bad_member");
    replay("{").await.refuses(400, "bad_json");
}

#[tokio::test]
async fn a_dead_letter_is_deleted_permanently() {
    let harness = Harness::start().await;
    let id = harness.submit("x").await;
    harness.settle(buried("x", 404)).await;
    let delete = format!("DELETE /v1/buckets/b/dead/{id}");
    assert_eq!(harness.ask(&delete, &[], "").await.status, 204);
    harness.ask(&delete, &[], "").await.refuses(404, "unknown_job");
    harness.get(&format!("/v1/buckets/b/dead/{id}")).await.refuses(404, "unknown_job");
}

#[tokio::test]
async fn all_dead_letters_that_match_are_deleted_and_no_others() {
    let harness = Harness::start().await;
    for (reason, status) in [("gone", 410), ("gone", 410), ("gone for ever", 410), ("gone", 404), ("x", 404)] {
        harness.submit("x").await;
        harness.settle(buried(reason, status)).await;
    }
    let delete = async |query: &str| harness.ask(&format!("DELETE /v1/buckets/b/dead{query}"), &[], "").await;
    for (refused, member) in [
        ("", "reason"),
        ("?reason=", "reason"),
        ("?status=410&limit=1", "limit"),
        ("?status=410&cursor=x", "cursor"),
        ("?status=9", "status"),
        ("?reason=gone&exact_reason=yes", "exact_reason"),
    ] {
        assert_eq!(delete(refused).await.refuses(422, "bad_query")["member"], member, "{refused}");
    }
    delete("?reasn=gone").await.refuses(422, "bad_query");
    assert_eq!(delete("?reason=gone&exact_reason=true&status=410").await.json(), json!({"deleted": 2}));
    assert_eq!(delete("?reason=gone").await.json(), json!({"deleted": 2}));
    assert_eq!(delete("?reason=gone").await.json(), json!({"deleted": 0}));
    let left = harness.get("/v1/buckets/b/dead").await.json();
    assert_eq!((&left["items"][0]["outcome"]["reason"], &left["items"][1]), (&json!("x"), &json!(null)));
    assert_eq!(harness.get("/v1/buckets/b").await.json()["dead"], 1);
    let trail = harness.get("/v1/buckets/b/audit").await.json();
    assert_eq!(trail["items"][1]["detail"], "2 dead letters: a reason with `gone`");
}

#[tokio::test]
async fn a_replay_of_many_is_started_shown_and_cancelled() {
    let harness = Harness::start().await;
    for status in [404, 404, 410] {
        harness.submit("x").await;
        harness.settle(buried("x", status)).await;
    }
    let start = async |body: &'static str| harness.ask("POST /v1/buckets/b/dead/replays", &[], body).await;
    for wrong in [r#"{"stat": 404}"#, r#"{"rate": "10"}"#, r#"{"status": 99}"#] {
        start(wrong).await.refuses(422, "bad_member");
    }
    let long = format!(r#"{{"reason": "{}"}}"#, "x".repeat(1025));
    let long = harness.ask("POST /v1/buckets/b/dead/replays", &[], long).await;
    assert_eq!(long.refuses(422, "bad_member")["member"], "reason");
    assert_eq!(harness.get("/v1/buckets/b/dead/replays").await.json(), json!({"items": [], "next": null}));

    let started = start(r#"{"status": 404, "reason": "x", "exact_reason": true, "rate": "1/h"}"#).await;
    assert_eq!(started.status, 202, "{started:?}");
    let path = started.header("location").unwrap().to_owned();
    until("the first is replayed", async || harness.get(&path).await.json()["done"] == 1).await;
    let replay = harness.get(&path).await.json();
    assert_eq!(replay["id"], path.rsplit('/').next().unwrap());
    let filter = json!({
        "reason": "x", "exact_reason": true, "status": 404, "caller": null, "since": null, "until": null
    });
    assert_eq!((&replay["filter"], &replay["rate"], &replay["bucket"]), (&filter, &json!("1/h"), &json!("b")));
    let numbers = [&replay["state"], &replay["total"], &replay["done"], &replay["failed"], &replay["ended_at"]];
    assert_eq!(numbers, [&json!("running"), &json!(2), &json!(1), &json!(0), &json!(null)]);
    for _ in 0..2 {
        assert_eq!(harness.ask(&format!("DELETE {path}"), &[], "").await.status, 204);
    }
    let list = harness.get("/v1/buckets/b/dead/replays").await.json();
    assert_eq!((&list["items"][0]["state"], &list["items"][1]), (&json!("cancelled"), &json!(null)));
    assert!(list["items"][0]["ended_at"].is_string(), "{list}");
    assert_eq!(harness.get("/v1/buckets/b").await.json()["dead"], 2);
    for unknown in ["0000000000000abc", "abc", "replay"] {
        harness.get(&format!("/v1/buckets/b/dead/replays/{unknown}")).await.refuses(404, "unknown_replay");
    }
}

#[tokio::test]
async fn a_replay_that_is_done_accounts_for_each_of_its_letters() {
    let harness = Harness::start().await;
    for _ in 0..3 {
        harness.submit("x").await;
        harness.settle(buried("x", 404)).await;
    }
    assert_eq!(harness.ask("PATCH /v1/buckets/b", &[], r#"{"capacity": 1}"#).await.status, 200);
    let started = harness.post("/v1/buckets/b/dead/replays").await;
    let path = started.header("location").unwrap().to_owned();
    until("the bucket is full", async || harness.get(&path).await.json()["done"] == 1).await;
    assert_eq!(harness.get(&path).await.json()["gone"], 0);
    assert_eq!(harness.ask("DELETE /v1/buckets/b/dead?status=404", &[], "").await.json()["deleted"], 2);
    until("it is done", async || harness.get(&path).await.json()["state"] == "done").await;
    let replay = harness.get(&path).await.json();
    let numbers = ["total", "done", "failed", "gone"].map(|name| replay[name].as_u64());
    assert_eq!(numbers, [3, 1, 0, 2].map(Some), "{replay}");
}

#[tokio::test]
async fn each_way_to_replay_counts_its_jobs_as_accepted() {
    let harness = Harness::start().await;
    let accepted = async || {
        let text = String::from_utf8(harness.get("/metrics").await.body.to_vec()).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(r#"dripfeed_jobs_accepted_total{bucket="b"} "#));
        line.unwrap().parse::<u64>().unwrap()
    };
    let id = harness.submit("x").await;
    harness.settle(buried("x", 404)).await;
    let ways = [format!("dead/{id}/replay"), "dead/replay".to_owned(), "dead/replays".to_owned()];
    for (before, way) in (1..).zip(ways) {
        assert_eq!(accepted().await, before, "before {way}");
        let answer = harness.post(&format!("/v1/buckets/b/{way}")).await;
        assert!(answer.status.is_success(), "{answer:?}");
        until("the job is back and counted", async || accepted().await > before && harness.length("b").await == 1)
            .await;
        harness.settle(buried("x", 404)).await;
    }
    assert_eq!(accepted().await, 4);
}
