use serde_json::json;

use crate::stage::{Stage, buried, delivered};

#[tokio::test]
async fn a_dead_letter_has_its_payload_and_outcome() {
    let stage = Stage::set().await;
    let id = stage.submit_with(&[("content-type", "text/plain")], "hello").await;
    stage.settle(buried("the upstream answered 410", 410)).await;
    let letter = stage.get(&format!("/v1/buckets/b/dead/{id}")).await.json();
    assert_eq!(
        (&letter["id"], &letter["body"], &letter["content_type"]),
        (&json!(id), &json!("hello"), &json!("text/plain"))
    );
    assert_eq!((&letter["outcome"]["result"], &letter["outcome"]["status"]), (&json!("dead"), &json!(410)));
    assert!(letter["died_at"].is_string() && letter["accepted_at"].is_string());
    let list = stage.get("/v1/buckets/b/dead").await.json();
    assert_eq!(list, json!({"items": [letter], "next": null}));

    stage.ask("POST /v1/buckets/b/jobs", &[], vec![0xff]).await;
    let bytes = stage.settle(buried("x", 400)).await;
    let letter = stage.get(&format!("/v1/buckets/b/dead/{}", bytes.id)).await.json();
    assert_eq!((&letter["body_base64"], letter.get("body")), (&json!("/w=="), None));
}

#[tokio::test]
async fn dead_letters_are_filtered() {
    let stage = Stage::set().await;
    for status in [404, 410] {
        stage.submit("x").await;
        stage.settle(buried(&format!("the upstream answered {status}"), status)).await;
    }
    let count = async |query: &str| {
        let list = stage.get(&format!("/v1/buckets/b/dead?{query}")).await.json();
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
    let stage = Stage::set().await;
    let id = stage.submit("again").await;
    stage.settle(buried("x", 404)).await;
    let answer = stage.post(&format!("/v1/buckets/b/dead/{id}/replay")).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let new = answer.json()["id"].as_str().unwrap().to_owned();
    assert_ne!(new, id);
    assert_eq!(answer.header("location"), Some(format!("/v1/buckets/b/jobs/{new}").as_str()));
    assert_eq!(stage.settle(delivered(200, "text/plain", b"")).await.body, "again");
    stage.post(&format!("/v1/buckets/b/dead/{id}/replay")).await.refuses(404, "unknown_job");

    stage.submit("full").await;
    let dead = stage.settle(buried("x", 404)).await.id;
    for n in 0..10 {
        stage.submit(&n.to_string()).await;
    }
    stage.post(&format!("/v1/buckets/b/dead/{dead}/replay")).await.refuses(429, "bucket_full");
}

#[tokio::test]
async fn many_dead_letters_are_replayed_by_filter() {
    let stage = Stage::set().await;
    for status in [404, 404, 410] {
        stage.submit("x").await;
        stage.settle(buried("x", status)).await;
    }
    let replay = async |body: &'static str| stage.ask("POST /v1/buckets/b/dead/replay", &[], body).await;
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
    let stage = Stage::set().await;
    let id = stage.submit("x").await;
    stage.settle(buried("x", 404)).await;
    let delete = format!("DELETE /v1/buckets/b/dead/{id}");
    assert_eq!(stage.ask(&delete, &[], "").await.status, 204);
    stage.ask(&delete, &[], "").await.refuses(404, "unknown_job");
    stage.get(&format!("/v1/buckets/b/dead/{id}")).await.refuses(404, "unknown_job");
}
