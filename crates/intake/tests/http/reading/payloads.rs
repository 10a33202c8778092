use dripfeed_auth::Scope;
use dripfeed_bucket::{BucketSettings, Kind};
use serde_json::json;

use crate::harness::{Harness, buried, settings};
use crate::keys::key;

const KEY: &str = "dripfeed-key";

async fn harness(kind: Kind) -> Harness {
    let keys = vec![
        key("shop", &[Scope::Submit], None),
        key("reader", &[Scope::Read], None),
        key("ops", &[Scope::Read, Scope::Inspect], None),
    ];
    let bucket = BucketSettings { kind, ..settings("b") };
    Harness::with(vec![bucket, settings("other")], keys, &[]).await
}

#[tokio::test]
async fn a_job_that_is_not_ended_shows_its_payload_when_asked() {
    for kind in [Kind::Stream, Kind::List] {
        let harness = harness(kind).await;
        let headers = [
            (KEY, "shop"),
            ("content-type", "text/plain"),
            ("dripfeed-method", "PUT"),
            ("dripfeed-path", "/orders/17"),
            ("dripfeed-forward-x-tenant", "blue"),
        ];
        let answer = harness.ask("POST /v1/buckets/b/jobs", &headers, "hello").await;
        let path = format!("/v1/buckets/b/jobs/{}", answer.json()["id"].as_str().unwrap());
        let get = async |query: &str| harness.ask(&format!("GET {path}{query}"), &[(KEY, "ops")], "").await.json();
        let payload = json!({
            "content_type": "text/plain", "body": "hello", "truncated": false, "method": "PUT", "path": "/orders/17",
            "headers": [{"name": "x-tenant", "value": "blue"}],
        });
        assert_eq!(get("?payload=true").await["payload"], payload, "{kind:?}");
        let without = get("").await;
        assert_eq!((without.get("payload"), get("?payload=false").await), (None, without.clone()), "{kind:?}");
        let replica = harness.replica().await;
        let _claim = harness.take(&replica).await;
        let called = get("?payload=true").await;
        assert_eq!((&called["state"], &called["payload"]), (&json!("in_flight"), &payload), "{kind:?}");
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_are_base64() {
    for kind in [Kind::Stream, Kind::List] {
        let harness = harness(kind).await;
        let answer = harness.ask("POST /v1/buckets/b/jobs", &[(KEY, "shop")], vec![0xff, 0]).await;
        let path = format!("GET /v1/buckets/b/jobs/{}?payload=true", answer.json()["id"].as_str().unwrap());
        let payload = harness.ask(&path, &[(KEY, "ops")], "").await.json()["payload"].clone();
        assert_eq!((&payload["body_base64"], payload.get("body")), (&json!("/wA="), None), "{kind:?}");
    }
}

#[tokio::test]
async fn without_inspect_and_after_its_end_a_job_has_no_payload() {
    let harness = harness(Kind::Stream).await;
    let answer = harness.ask("POST /v1/buckets/b/jobs", &[(KEY, "shop")], "secret").await;
    let path = format!("GET /v1/buckets/b/jobs/{}", answer.json()["id"].as_str().unwrap());
    let seen = harness.ask(&format!("{path}?payload=true"), &[(KEY, "reader")], "").await;
    assert!(!String::from_utf8_lossy(&seen.body).contains("secret"), "{seen:?}");
    assert_eq!(seen.json().get("payload"), Some(&json!(null)));
    harness.settle(buried("gone", 410)).await;
    let ended = harness.ask(&format!("{path}?payload=true"), &[(KEY, "ops")], "").await.json();
    assert_eq!((&ended["state"], ended.get("payload")), (&json!("dead"), Some(&json!(null))));
    harness.ask(&format!("{path}?payload=1"), &[(KEY, "ops")], "").await.refuses(422, "bad_query");
}
