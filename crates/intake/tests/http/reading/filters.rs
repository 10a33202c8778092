use dripfeed_auth::Scope;
use dripfeed_bucket::BucketSettings;
use dripfeed_bucket::Kind;
use serde_json::{Value, json};

use crate::harness::{Harness, buried, settings};
use crate::keys::key;

const KEY: &str = "dripfeed-key";
const BATCH: &str = "POST /v1/buckets/b/jobs/batch";

/// Callers `shop` and `mail`, and `ops`, who looks.
async fn harness(kind: Kind) -> Harness {
    let keys = vec![
        key("shop", &[Scope::Submit], None),
        key("mail", &[Scope::Submit], None),
        key("ops", &[Scope::Read, Scope::Operate], None),
    ];
    let bucket = BucketSettings { kind, capacity: 1000, ..settings("b") };
    Harness::with(vec![bucket, settings("other")], keys, &[]).await
}

async fn submit(harness: &Harness, caller: &str) -> String {
    let answer = harness.ask("POST /v1/buckets/b/jobs", &[(KEY, caller)], "x").await;
    answer.json()["id"].as_str().unwrap().to_owned()
}

/// The ids of one page, and its cursor.
async fn page(harness: &Harness, query: &str) -> (Vec<String>, Option<String>) {
    let list = harness.ask(&format!("GET /v1/buckets/b/jobs?{query}"), &[(KEY, "ops")], "").await;
    assert_eq!(list.status, 200, "{list:?}");
    let list = list.json();
    let ids = list["items"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap().to_owned());
    (ids.collect(), list["next"].as_str().map(str::to_owned))
}

async fn ids(harness: &Harness, query: &str) -> Vec<String> {
    let (ids, next) = page(harness, query).await;
    assert_eq!(next, None);
    ids
}

#[tokio::test]
async fn jobs_are_listed_by_caller_and_age_and_state_at_once() {
    for kind in [Kind::Stream, Kind::List] {
        let harness = harness(kind).await;
        let called = submit(&harness, "shop").await;
        let replica = harness.replica().await;
        let _claim = harness.take(&replica).await;
        let of_shop = submit(&harness, "shop").await;
        let of_mail = submit(&harness, "mail").await;
        assert_eq!(ids(&harness, "caller=shop").await, [called.as_str(), of_shop.as_str()], "{kind:?}");
        assert_eq!(ids(&harness, "caller=shop&state=waiting").await, [of_shop.as_str()], "{kind:?}");
        assert_eq!(ids(&harness, "caller=shop&state=in_flight&older_than=0s").await, [called.as_str()], "{kind:?}");
        assert_eq!(ids(&harness, "older_than=0s").await, [called.as_str(), &of_shop, &of_mail], "{kind:?}");
        for none in ["caller=nobody", "caller=sho", "older_than=1h", "state=waiting&older_than=1h", "state=parked"] {
            assert_eq!(ids(&harness, none).await, [""; 0], "{kind:?} {none}");
        }
    }
}

#[tokio::test]
async fn ended_jobs_are_listed_by_caller_and_age() {
    let harness = harness(Kind::Stream).await;
    for caller in ["shop", "mail", "shop"] {
        submit(&harness, caller).await;
    }
    for _ in 0..3 {
        harness.settle(buried("gone", 410)).await;
    }
    assert_eq!(ids(&harness, "state=dead&caller=shop").await.len(), 2);
    assert_eq!(ids(&harness, "state=dead&caller=mail&older_than=0s").await.len(), 1);
    for none in ["state=dead&caller=nobody", "state=dead&older_than=1h", "state=delivered&caller=shop"] {
        assert_eq!(ids(&harness, none).await, [""; 0], "{none}");
    }
}

#[tokio::test]
async fn pages_of_a_rare_caller_end_and_miss_nobody() {
    for kind in [Kind::Stream, Kind::List] {
        let harness = harness(kind).await;
        let mut of_mail = vec![submit(&harness, "mail").await];
        // Together more than a script reads.
        let flood = json!(vec![json!({ "body": "x".repeat(4000) }); 15]).to_string();
        for _ in 0..10 {
            assert_eq!(harness.ask(BATCH, &[(KEY, "shop")], flood.clone()).await.status, 202);
        }
        of_mail.push(submit(&harness, "mail").await);
        let (mut found, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let (more, next) = page(&harness, &format!("caller=mail&limit=5{cursor}")).await;
            found.extend(more);
            pages += 1;
            let Some(next) = next else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(found, of_mail, "{kind:?}");
        assert!(pages <= 5, "{pages} pages");
    }
}

#[tokio::test]
async fn a_filter_that_cannot_be_is_refused() {
    let harness = harness(Kind::Stream).await;
    let refused = async |query: &str| -> Value {
        let answer = harness.ask(&format!("GET /v1/buckets/b/jobs?{query}"), &[(KEY, "ops")], "").await;
        answer.refuses(422, "bad_query")["member"].clone()
    };
    assert_eq!(refused("older_than=old").await, "older_than");
    assert_eq!(refused("caller=").await, "caller");
    assert_eq!(refused("idempotency_key=k&older_than=1h").await, "idempotency_key");
    assert_eq!(refused("idempotency_key=k&state=waiting").await, "idempotency_key");
}
