use serde_json::json;

use crate::harness::{Harness, delivered};

const BATCH: &str = "POST /v1/buckets/b/jobs/batch";
const NDJSON: (&str, &str) = ("content-type", "application/x-ndjson");
const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn each_item_is_admitted_or_refused_independently_in_order() {
    let harness = Harness::start().await;
    let lines = r#"{"body": {"n":  1}}
{"body": 2, "options": {"dealy": "1s"}}
{"body_base64": "/w==", "content_type": "image/x"}
{"boddy": 4}
"#;
    let answer = harness.ask(BATCH, &[NDJSON], lines).await;
    assert_eq!(answer.status, 207, "{answer:?}");
    let judged = answer.json();
    assert_eq!((&judged["accepted"], &judged["refused"]), (&json!(2), &json!(2)));
    let statuses: Vec<_> = judged["items"].as_array().unwrap().iter().map(|item| item["status"].clone()).collect();
    assert_eq!(statuses, [202, 422, 202, 422]);
    assert_eq!(judged["items"][1]["problem"]["code"], "bad_option");
    assert_eq!(judged["items"][1]["problem"]["item"], 1);
    assert_eq!(judged["items"][3]["problem"]["code"], "bad_item");
    assert_eq!(answer.header("ratelimit"), Some("\"bucket\";r=8"));
    let first = harness.settle(delivered(200, "text/plain", b"")).await;
    assert_eq!(first.id.to_string(), judged["items"][0]["id"].as_str().unwrap());
    assert_eq!((first.body.as_ref(), first.content_type.as_deref()), (&br#"{"n":  1}"#[..], Some("application/json")));
    let second = harness.settle(delivered(200, "text/plain", b"")).await;
    assert_eq!((second.body.as_ref(), second.content_type.as_deref()), (&[255][..], Some("image/x")));
}

#[tokio::test]
async fn a_batch_may_be_an_array() {
    let harness = Harness::start().await;
    let answer = harness.ask(BATCH, &[JSON], r#"[{"body": 1}, {"body": 2}]"#).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(answer.json()["accepted"], 2);
    let untyped = harness.ask(BATCH, &[], "[{\"body\": 3}]").await;
    assert_eq!(untyped.status, 202);
    assert_eq!(harness.length("b").await, 3);
}

#[tokio::test]
async fn malformed_json_refuses_the_whole_batch() {
    let harness = Harness::start().await;
    for body in ["{", "[{\"body\": 1}, {\"body\":", "[{\"body\": NaN}]", "[{\"body\": 01}]", "", "[]"] {
        harness.ask(BATCH, &[JSON], body.to_owned()).await.refuses(400, "bad_batch");
    }
    let problem = harness.ask(BATCH, &[JSON], "{\"body\": 1}\n{\"body\": 2}\n").await.refuses(400, "bad_batch");
    assert!(problem["detail"].as_str().unwrap().contains("application/x-ndjson"), "{problem}");
    let problem = harness.ask(BATCH, &[NDJSON], "{\"body\": 1}\n{\"body\": }\n").await.refuses(400, "bad_batch");
    assert_eq!((&problem["item"], &problem["line"]), (&json!(1), &json!(2)));
    let many = "{\"body\": 1}\n".repeat(101);
    harness.ask(BATCH, &[NDJSON], many).await.refuses(413, "body_too_large");
    harness.ask(BATCH, &[JSON, ("content-encoding", "gzip")], "[]").await.refuses(415, "bad_media_type");
    let problem = harness.ask(BATCH, &[JSON, ("dripfeed-delay", "1s")], "[{\"body\": 1}]").await;
    problem.refuses(422, "bad_option");
    assert_eq!(harness.length("b").await, 0);
}

#[tokio::test]
async fn what_few_readers_can_parse_refuses_its_item_alone() {
    let harness = Harness::start().await;
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let good = ["1e400".to_owned(), "9".repeat(310), nested(100), "\"\\ud83d\\ude00\"".to_owned()];
    let bad = [nested(127), nested(10_000), "\"\\ud800\"".to_owned(), "{\"\\ud83d\\ud83d\": 1}".to_owned()];
    let items: Vec<String> = good.iter().chain(&bad).map(|body| format!("{{\"body\": {body}}}")).collect();
    for (form, batch) in [(JSON, format!("[{}]", items.join(","))), (NDJSON, items.join("\n"))] {
        let answer = harness.ask(BATCH, &[form], batch).await;
        assert_eq!(answer.status, 207, "{answer:?}");
        let judged = answer.json();
        let items = judged["items"].as_array().unwrap();
        let statuses: Vec<_> = items.iter().map(|item| item["status"].as_u64().unwrap()).collect();
        assert_eq!(statuses, [202, 202, 202, 202, 422, 422, 422, 422], "{judged}");
        for (at, item) in items.iter().enumerate().skip(good.len()) {
            let problem = &item["problem"];
            assert_eq!((&problem["code"], &problem["item"]), (&json!("bad_item"), &json!(at)), "{problem}");
            assert!(problem["column"].as_u64().is_some(), "{problem}");
        }
        for body in &good {
            assert_eq!(harness.settle(delivered(200, "text/plain", b"")).await.body.as_ref(), body.as_bytes());
        }
    }
}

#[tokio::test]
async fn an_unknown_member_of_an_item_is_refused_with_its_place() {
    let harness = Harness::start().await;
    for (item, code, place) in [
        (r#"{"body": 1, "boddy": 2}"#, "bad_item", "column"),
        (r#"{"body": 1, "options": {"dealy": "1s"}}"#, "bad_option", "options"),
        (r#"{"body": 1, "options": {"delay": "1s", "delay": "2s"}}"#, "bad_item", "column"),
        (r#"{"options": {}}"#, "bad_item", "member"),
        ("null", "bad_item", "column"),
    ] {
        let answer = harness.ask(BATCH, &[JSON], format!("[{item}]")).await;
        assert_eq!(answer.status, 422, "{item}: {answer:?}");
        let problem = answer.json()["items"][0]["problem"].clone();
        assert_eq!((&problem["code"], &problem["item"]), (&json!(code), &json!(0)), "{item}: {problem}");
        assert!(problem.get(place).is_some(), "{item}: {problem}");
    }
    assert_eq!(harness.length("b").await, 0);
}

#[tokio::test]
async fn when_no_item_is_admitted_the_status_names_the_cause() {
    let harness = Harness::start().await;
    let bad = harness.ask(BATCH, &[JSON], "[{\"boddy\": 1}, 2]").await;
    assert_eq!(bad.status, 422);
    assert_eq!(bad.json()["refused"], 2);
    let lines = "{\"body\": 1}\n".repeat(15);
    let mixed = harness.ask(BATCH, &[NDJSON], lines.clone()).await;
    assert_eq!(mixed.status, 207);
    assert_eq!(mixed.json()["accepted"], 10);
    assert!(mixed.header("retry-after").is_some());
    let full = harness.ask(BATCH, &[NDJSON], lines).await;
    assert_eq!(full.status, 429);
    assert_eq!((&full.json()["accepted"], &full.json()["refused"]), (&json!(0), &json!(15)));
    assert!(full.header("retry-after").is_some());
    assert_eq!(full.json()["items"][0]["problem"]["code"], "bucket_full");
    assert_eq!(harness.length("b").await, 10);
}

#[tokio::test]
async fn items_share_idempotency_keys_with_single_submissions() {
    let harness = Harness::start().await;
    let id = harness.submit_with(&[("idempotency-key", "k")], "1").await;
    let items = r#"[{"body": 1, "options": {"idempotency_key": "k"}},
        {"body": 2, "options": {"idempotency_key": "k"}}, {"body": 3, "options": {"idempotency_key": ""}}]"#;
    let judged = harness.ask(BATCH, &[JSON], items).await.json();
    assert_eq!(judged["items"][0], json!({"status": 202, "id": id}));
    assert_eq!(judged["items"][1]["problem"]["code"], "idempotency_conflict");
    assert_eq!(judged["items"][2]["problem"]["code"], "bad_idempotency_key");
    assert_eq!(harness.length("b").await, 1);
}
