mod added_routes;
mod by_any_route;
mod during_a_request;

use std::collections::BTreeSet;

use dripfeed_auth::{ApiKey, BucketSet, Scope, ServiceSet};
use dripfeed_bucket::BucketSettings;
use dripfeed_job::Priority;
use futures::future::join_all;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::harness::{Harness, ask, delivered, request, settings};

const JOBS: &str = "POST /v1/buckets/b/jobs";
const BATCH: &str = "POST /v1/buckets/b/jobs/batch";

pub fn key(id: &str, scopes: &[Scope], bucket: Option<&str>) -> ApiKey {
    let (buckets, services) = match bucket {
        Some(name) => (
            BucketSet::Named(BTreeSet::from([name.parse().unwrap()])),
            ServiceSet::Named(BTreeSet::from([name.parse().unwrap()])),
        ),
        None => (BucketSet::All, ServiceSet::All),
    };
    // The secret of a key is its id, here.
    let (sha256, priority) = (Sha256::digest(id).into(), Priority::Normal);
    ApiKey { id: id.to_owned(), sha256, scopes: scopes.to_vec(), buckets, services, priority }
}

async fn harness() -> Harness {
    let keys = vec![
        key("sender", &[Scope::Submit], None),
        key("reader", &[Scope::Read], None),
        key("operator", &[Scope::Operate], None),
        key("tenant", &[Scope::Submit, Scope::Read, Scope::Operate], Some("b")),
    ];
    Harness::with(vec![settings("b"), settings("other")], keys, &[]).await
}

fn bearer(id: &str) -> String {
    format!("Bearer {id}")
}

#[tokio::test]
async fn without_a_valid_key_every_request_gets_the_same_401() {
    let harness = harness().await;
    let hash: String = Sha256::digest("sender").iter().map(|byte| format!("{byte:02x}")).collect();
    let texts: BTreeSet<_> = [
        harness.ask(JOBS, &[], "x").await,
        harness.ask(JOBS, &[("authorization", "Bearer wrong")], "x").await,
        harness.ask(JOBS, &[("authorization", "Basic sender")], "x").await,
        harness.ask(JOBS, &[("authorization", "Bearer ")], "x").await,
        harness.ask(JOBS, &[("authorization", "sender")], "x").await,
        harness.ask(JOBS, &[("dripfeed-key", "")], "x").await,
        harness.ask(JOBS, &[("dripfeed-key", "sender, sender")], "x").await,
        // Not the hash of a key either, which more people see.
        harness.ask(JOBS, &[("dripfeed-key", &hash)], "x").await,
        harness.ask(JOBS, &[("dripfeed-key", "wrong"), ("authorization", "Bearer sender")], "x").await,
        harness.ask("POST /v1/buckets/b/jobs?key=sender&api_key=sender", &[], "x").await,
        harness.ask("POST /v1/buckets/nope/jobs", &[], "x").await,
        harness.ask("GET /v1/buckets", &[], "").await,
        harness.ask("GET /v1/events", &[], "").await,
        harness.ask("GET /v1/key", &[], "").await,
    ]
    .iter()
    .map(|answer| {
        assert_eq!(answer.header("www-authenticate"), Some("Bearer realm=\"dripfeed\""));
        answer.refuses(401, "unauthenticated").to_string()
    })
    .collect();
    assert_eq!(texts.len(), 1);
    assert_eq!(harness.length("b").await, 0);
    for open in ["/livez", "/readyz", "/openapi.json", "/"] {
        assert_eq!(harness.get(open).await.status, 200, "{open}");
    }
}

#[tokio::test]
async fn a_key_has_no_access_to_other_buckets() {
    let harness = harness().await;
    let tenant = bearer("tenant");
    let tenant = [("authorization", tenant.as_str())];
    assert_eq!(harness.ask(JOBS, &tenant, "x").await.status, 202);
    // Whether a bucket exists isn't reported either.
    for other in ["other", "nope"] {
        let answer = harness.ask(&format!("POST /v1/buckets/{other}/jobs"), &tenant, "x").await;
        answer.refuses(403, "forbidden");
        let answer = harness.ask(&format!("POST /v1/services/{other}/check"), &tenant, "{}").await;
        answer.refuses(403, "forbidden");
    }
    // Nor reported by the labels of the metrics.
    harness.ask("GET /metrics", &tenant, "").await.refuses(403, "forbidden");
    let list = harness.ask("GET /v1/buckets", &tenant, "").await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    let theirs = harness.ask("POST /v1/buckets/other/jobs", &[("dripfeed-key", "sender")], "x").await.json();
    let id = theirs["id"].as_str().unwrap();
    let answer = harness.ask(&format!("GET /v1/buckets/b/jobs/{id}"), &tenant, "").await;
    answer.refuses(404, "unknown_job");
}

#[tokio::test]
async fn with_keys_any_host_name_is_accepted() {
    let harness = harness().await;
    let reader = [("host", "queue.example"), ("dripfeed-key", "reader")];
    assert_eq!(harness.ask("GET /v1/buckets", &reader, "").await.status, 200);
    harness.ask("GET /v1/buckets", &reader[..1], "").await.refuses(401, "unauthenticated");
}

#[tokio::test]
async fn the_key_names_the_caller_and_is_not_forwarded() {
    let harness = harness().await;
    let sender = bearer("sender");
    harness.ask("POST /v1/buckets/b/proxy/x", &[("authorization", &sender)], "x").await;
    let job = harness.settle(delivered(200, "text/plain", b"")).await;
    assert_eq!((job.caller.as_deref(), job.headers.is_empty()), (Some("sender"), true));

    let both = [("dripfeed-key", "sender"), ("authorization", "Bearer upstream")];
    harness.ask("POST /v1/buckets/b/proxy/x", &both, "x").await;
    let job = harness.settle(delivered(200, "text/plain", b"")).await;
    assert_eq!(job.headers.to_field(), r#"[["authorization","Bearer upstream"]]"#);
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_once() {
    let harness = harness().await;
    let sender = [("dripfeed-key", "sender")];
    assert_eq!(harness.ask(JOBS, &sender, "x").await.status, 202);
    harness.keys.replace([key("reader", &[Scope::Read], None)]);
    harness.ask(JOBS, &sender, "x").await.refuses(401, "unauthenticated");
    harness.ask(&format!("{JOBS}?key=sender&dripfeed-key=sender"), &[], "x").await.refuses(401, "unauthenticated");
}

#[tokio::test]
async fn old_and_new_key_of_a_caller_are_valid_together() {
    let harness = harness().await;
    let successor = ApiKey { id: "sender".to_owned(), ..key("new", &[Scope::Submit], None) };
    harness.keys.replace([key("sender", &[Scope::Submit], None), successor.clone()]);
    for secret in ["sender", "new"] {
        harness.ask(JOBS, &[("dripfeed-key", secret)], "x").await;
        assert_eq!(harness.settle(delivered(200, "text/plain", b"")).await.caller.as_deref(), Some("sender"));
    }
    harness.keys.replace([successor]);
    harness.ask(JOBS, &[("dripfeed-key", "sender")], "x").await.refuses(401, "unauthenticated");
    assert_eq!(harness.ask(JOBS, &[("dripfeed-key", "new")], "x").await.status, 202);
}

#[tokio::test]
async fn jobs_that_a_caller_sends_at_once_stand_not_all_before_those_of_others() {
    let roomy = BucketSettings { capacity: 1_000_000, capacity_bytes: 1 << 30, ..settings("b") };
    let keys = ["flooder", "tenant"].map(|id| key(id, &[Scope::Submit], None));
    let harness = Harness::with(vec![roomy], Vec::from(keys), &[]).await;
    let flooder = [("authorization", &*bearer("flooder")), ("content-type", "application/json")];
    let tenant = [("authorization", &*bearer("tenant"))];
    let batch: Vec<_> = (0..200).map(|body| json!({ "body": body })).collect();
    let (front, operator) = (harness.intake.entry_point(), harness.connect().await);
    // Of batches, no more than a hundred jobs of each are on their way.
    for (line, body, many, most) in [(JOBS, "x".to_owned(), 1000, 32), (BATCH, json!(batch).to_string(), 6, 200)] {
        let before = harness.length("b").await;
        // Until all of them are read.
        harness.store.command::<()>(redis::cmd("CLIENT").arg(&["PAUSE", "60000", "WRITE"])).await.unwrap();
        let flood: Vec<_> =
            (0..many).map(|_| tokio::spawn(ask(front.clone(), request(line, &flooder, body.clone())))).collect();
        let read = async || {
            for _ in 0..many {
                tokio::task::yield_now().await;
            }
        };
        read().await;
        let (receipt, ()) = tokio::join!(ask(front.clone(), request(JOBS, &tenant, "y")), async {
            read().await;
            operator.command::<()>(redis::cmd("CLIENT").arg("UNPAUSE")).await.unwrap();
        });
        let level = receipt.json()["level"].as_u64().unwrap();
        assert!(level <= before + most + 1, "behind {} others", level - before - 1);
        join_all(flood).await;
    }
}

#[tokio::test]
async fn idempotency_keys_of_others_are_for_operators() {
    let keys = vec![
        key("shop", &[Scope::Submit, Scope::Read], None),
        key("till", &[Scope::Read], None),
        key("ops", &[Scope::Read, Scope::Operate], None),
    ];
    let harness = Harness::with(vec![settings("b")], keys, &[]).await;
    let receipt = harness.ask(JOBS, &[("dripfeed-key", "shop"), ("idempotency-key", "k")], "x").await.json();
    let find = async |key: &str, query: &str| {
        let line = format!("GET /v1/buckets/b/jobs?idempotency_key=k{query}");
        harness.ask(&line, &[("dripfeed-key", key)], "").await
    };
    for (key, query) in [("shop", ""), ("shop", "&caller=shop"), ("ops", "&caller=shop")] {
        assert_eq!(find(key, query).await.json()["items"][0]["id"], receipt["id"], "{key} {query}");
    }
    for key in ["till", "ops"] {
        assert_eq!(find(key, "").await.json(), json!({"items": [], "next": null}), "{key}");
    }
    find("till", "&caller=shop").await.refuses(403, "forbidden");
}
