use std::collections::BTreeSet;
use std::time::Instant;

use dripfeed_auth::{ApiKey, BucketSet, Scope, ServiceSet};
use dripfeed_bucket::BucketSettings;
use redis::InfoDict;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::harness::{Harness, delivered, settings};

#[tokio::test]
async fn a_key_shows_what_it_may_do() {
    let harness = Harness::start().await;
    let scopes = ["submit", "read", "inspect", "operate", "define"];
    let everyone = json!({"id": null, "scopes": scopes, "all_buckets": true, "priority": "high"});
    assert_eq!(harness.get("/v1/key").await.json(), everyone);
    harness.keys.replace([ApiKey {
        id: "tenant".to_owned(),
        sha256: Sha256::digest("secret").into(),
        scopes: vec![Scope::Read],
        buckets: BucketSet::Named(BTreeSet::from(["b".parse().unwrap()])),
        services: ServiceSet::All,
        priority: dripfeed_job::Priority::Normal,
    }]);
    let theirs = harness.ask("GET /v1/key", &[("dripfeed-key", "secret")], "").await.json();
    assert_eq!(theirs, json!({"id": "tenant", "scopes": ["read"], "all_buckets": false, "priority": "normal"}));
    // Redis serves the buckets of others, too.
    harness.ask("GET /v1/redis", &[("dripfeed-key", "secret")], "").await.refuses(403, "forbidden");
}

#[tokio::test]
async fn whoever_asks_redis_is_asked_once_a_second() {
    let harness = Harness::start().await;
    let asked = async || {
        let stats: InfoDict = harness.store.command(redis::cmd("INFO").arg("commandstats")).await.unwrap();
        let stats: String = stats.get("cmdstat_info").unwrap_or_default();
        stats.trim_start_matches("calls=").split(',').next().and_then(|calls| calls.parse::<u64>().ok()).unwrap_or(0)
    };
    let (begun, before) = (Instant::now(), asked().await);
    for _ in 0..200 {
        harness.get("/v1/redis").await;
    }
    let asked = asked().await - before - 1;
    // Once in a second, of which a busy machine takes some.
    let most = begun.elapsed().as_secs() + 1;
    assert!((1..=most).contains(&asked), "asked {asked} times in {:?}", begun.elapsed());
}

#[tokio::test]
async fn redis_is_described_with_what_is_wrong() {
    let harness = Harness::with(vec![settings("b")], Vec::new(), &["--maxmemory-policy", "allkeys-lru"]).await;
    let redis = harness.get("/v1/redis").await.json();
    let server = &redis["servers"][0];
    assert!(server["product"].as_str().unwrap().contains(' '), "{redis}");
    assert!(server["used_memory"].as_u64() > Some(0) && server["peak_memory"].as_u64() > Some(0), "{redis}");
    assert_eq!((&server["max_memory"], &server["eviction"]), (&0.into(), &"allkeys-lru".into()));
    let finding = &server["findings"][0];
    assert_eq!(finding["severity"], "error");
    assert!(finding["what_to_do"].as_str().unwrap().contains("noeviction"), "{finding}");
    assert!(redis["memory_warning"].as_str().unwrap().contains("maxmemory of Redis isn't set"), "{redis}");
    assert!(redis["worst_case_bytes"].as_u64() > Some(80 << 20), "{redis}");
    assert_eq!(redis["durability_configured"], "everysec");
}

#[tokio::test]
async fn the_doctor_names_what_does_not_hold() {
    let harness = Harness::start().await;
    harness.submit("x").await;
    let sound = harness.get("/v1/buckets/b/doctor").await.json();
    assert_eq!(sound, json!({"findings": [], "unchecked": []}));
    let mut count = redis::cmd("HINCRBY");
    count.arg("dripfeed:{b}:tally").arg("bytes").arg(7);
    harness.store.command::<i64>(&count).await.unwrap();
    let broken = harness.get("/v1/buckets/b/doctor").await.json();
    assert!(broken["findings"][0]["what"].as_str().unwrap().contains("bytes"), "{broken}");
    assert!(broken["findings"][0]["remedy"].is_string(), "{broken}");
    harness.get("/v1/buckets/nope/doctor").await.refuses(404, "unknown_bucket");
}

#[tokio::test]
async fn the_audit_trail_says_who_did_what() {
    let harness = Harness::start().await;
    let trail = async || {
        let trail = harness.get("/v1/buckets/b/audit").await.json();
        let entries = trail["items"].as_array().unwrap().clone();
        entries.iter().map(|entry| format!("{} {}", entry["action"], entry["detail"]).replace('"', "")).collect()
    };
    let nothing: Vec<String> = trail().await;
    assert!(nothing.is_empty(), "{nothing:?}");
    let id = harness.submit("x").await;
    harness.ask("PATCH /v1/buckets/b", &[], r#"{"capacity": 5, "leak": {"rate": "7/s"}}"#).await;
    harness.ask("PATCH /v1/buckets/b", &[], r#"{"capacity": null}"#).await;
    harness.ask("PATCH /v1/buckets/b", &[], r#"{"capacity": "many"}"#).await.refuses(422, "bad_member");
    harness.post("/v1/buckets/b/pause").await;
    harness.ask(&format!("DELETE /v1/buckets/b/jobs/{id}"), &[], "").await;
    harness.post("/v1/buckets/b/purge").await;
    let expected = [
        "purge 0 jobs".to_owned(),
        format!("cancel {id}"),
        "pause ".to_owned(),
        "change capacity: 5 → 10 (as configured)".to_owned(),
        "change capacity: 10 → 5, leak.rate: none → 7/s".to_owned(),
    ];
    let seen: Vec<String> = trail().await;
    assert_eq!(seen, expected);
    for _ in 0..120 {
        harness.post("/v1/buckets/b/resume").await;
    }
    let bounded: Vec<String> = trail().await;
    assert_eq!((bounded.len(), bounded[99].as_str()), (100, "resume "));
}

#[tokio::test]
async fn services_are_listed_with_what_was_decided() {
    let harness = Harness::start().await;
    assert_eq!(harness.get("/v1/services").await.json(), json!({"items": [], "next": null}));
    let rules = r#"{"policies":[{"id":"each","tiers":[{"kind":"gate","period":"1h"}]}]}"#;
    harness.ask("PUT /v1/services/shop/rules", &[], rules).await;
    for _ in 0..3 {
        harness.ask("POST /v1/services/shop/check", &[], "{}").await;
    }
    let listed = harness.get("/v1/services").await.json();
    let verdicts = json!({"allowed": 1, "refused": 2, "shadow_refused": 0, "unchecked": 0});
    assert_eq!(listed["items"], json!([{"name": "shop", "verdicts": {"each": verdicts}}]));

    let history = harness.get("/v1/services/shop/history").await.json();
    assert_eq!((&history["service"], &history["slot_ms"]), (&json!("shop"), &json!(60_000)));
    // Two minutes where one ended between them.
    let slots = history["policies"]["each"].as_array().unwrap();
    let sum = |name: &str| slots.iter().map(|slot| slot[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum("allowed"), sum("refused"), sum("unchecked")), (1, 2, 0), "{history}");
    assert_eq!(harness.get("/v1/services/nope/history").await.status, 404);
}

#[tokio::test]
async fn who_holds_room_and_which_limit_refused_is_known() {
    let keys = ["small", "large", "many"].map(|id| ApiKey {
        id: id.to_owned(),
        sha256: Sha256::digest(id).into(),
        scopes: vec![Scope::Submit, Scope::Read],
        buckets: BucketSet::All,
        services: ServiceSet::All,
        priority: dripfeed_job::Priority::Normal,
    });
    let max_share = Some("30%".parse().unwrap());
    let harness = Harness::with(vec![BucketSettings { max_share, ..settings("b") }], keys.to_vec(), &[]).await;
    let submit = async |key: &str, body: &str| {
        let answer = harness.ask("POST /v1/buckets/b/jobs", &[("dripfeed-key", key)], body.to_owned()).await;
        answer.status.as_u16()
    };
    submit("small", "x").await;
    submit("large", &"x".repeat(1000)).await;
    let many = [submit("many", "x").await, submit("many", "x").await, submit("many", "x").await];
    assert_eq!((many, submit("many", "x").await), ([202; 3], 429));
    let ask = async |query: &str| {
        harness.ask(&format!("GET /v1/buckets/b/holders{query}"), &[("dripfeed-key", "small")], "").await
    };
    let names = async |query: &str| {
        let items = ask(query).await.json()["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["caller"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("").await, ["many", "large", "small"]);
    assert_eq!(names("?by=bytes&limit=2").await, ["large", "many"]);
    let all = ask("?limit=1").await.json();
    assert_eq!((&all["items"][0]["jobs"], &all["callers"]), (&json!(3), &json!(3)));
    assert_eq!(all["limits"], json!({"max_share": {"allowed": 5, "refused": 1, "shadow_refused": 0}}));
    assert_eq!(all["refused"], json!([{"caller": "many", "limit": "max_share", "refused": 1}]));
    for (wrong, member) in [("?by=age", "by"), ("?limit=0", "limit")] {
        assert_eq!(ask(wrong).await.refuses(422, "bad_query")["member"], member);
    }
    for _ in 0..5 {
        harness.settle(delivered(200, "text/plain", b"")).await;
    }
    assert_eq!(ask("").await.json()["items"], json!([]));
}
