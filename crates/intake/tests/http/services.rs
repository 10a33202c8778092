use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dripfeed_auth::{ApiKey, BucketSet, Scope, ServiceSet};
use dripfeed_intake::EntryPoint;
use futures::future::join_all;
use serde_json::{Value, json};
use sfv::{List, Parser};
use sha2::{Digest as _, Sha256};

use crate::harness::{Answer, Harness, PATIENCE, ask, intake_settings, request, settings};

const RULES: &str = "PUT /v1/services/shop/rules";

async fn put(harness: &Harness, rules: &Value) -> Answer {
    harness.ask(RULES, &[], rules.to_string()).await
}

/// Rules with one policy per caller.
fn limit(limit: u64) -> Value {
    let tier = json!({ "kind": "fixed", "limit": limit, "period": "1h", "align": "first" });
    json!({ "policies": [{ "id": "each", "key": ["caller"], "tiers": [tier], "message": "slow down" }] })
}

async fn check_at(front: EntryPoint, headers: &[(&str, &str)], body: &Value) -> Answer {
    ask(front, request("POST /v1/services/shop/check", headers, body.to_string())).await
}

async fn check(harness: &Harness, body: Value) -> Answer {
    check_at(harness.intake.entry_point(), &[], &body).await
}

fn remaining(answer: &Answer) -> u64 {
    answer.json()["policies"][0]["tiers"][0]["remaining"].as_u64().unwrap()
}

#[tokio::test]
async fn rules_are_registered_read_and_deleted() {
    let harness = Harness::start().await;
    let path = "/v1/services/shop/rules";
    harness.get(path).await.refuses(404, "unknown_service");
    harness.ask("POST /v1/services/shop/check", &[], "{}").await.refuses(404, "unknown_service");
    let answer = put(&harness, &limit(2)).await;
    assert_eq!((answer.status.as_u16(), answer.json()), (200, limit(2)));
    assert_eq!(harness.get(path).await.json(), limit(2));
    assert_eq!(check(&harness, json!({})).await.status, 200);
    assert_eq!(harness.ask("DELETE /v1/services/shop/rules", &[], "").await.status, 204);
    harness.ask("DELETE /v1/services/shop/rules", &[], "").await.refuses(404, "unknown_service");
    harness.get(path).await.refuses(404, "unknown_service");
    harness.ask("POST /v1/services/shop/check", &[], "{}").await.refuses(404, "unknown_service");
}

#[tokio::test]
async fn published_service_levels_are_accepted_as_rules() {
    let harness = Harness::start().await;
    let yaml = "slas:\n  - id: put-product\n    enabled: true\n    match:\n      methods: [PUT]\n      \
                pathPattern: /v1/organizations/{orgId}/product/{id}\n    tiers:\n      - period: 3600\n        \
                threshold: 2\n";
    for media_type in ["application/yaml", "application/x-yaml; charset=utf-8", "text/yaml"] {
        let answer = harness.ask(RULES, &[("content-type", media_type)], yaml).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let rules = harness.get("/v1/services/shop/rules").await.json();
    assert_eq!(rules["policies"][0]["tiers"], json!([{ "kind": "fixed", "limit": 2, "period": "3600s" }]));
    let call = |org: &str| json!({ "method": "PUT", "path": format!("/v1/organizations/{org}/product/7") });
    assert_eq!(check(&harness, call("a")).await.status, 200);
    assert_eq!(check(&harness, call("a")).await.status, 200);
    assert_eq!(check(&harness, call("a")).await.status, 429);
    assert_eq!(check(&harness, call("b")).await.status, 200, "each tenant has its own");
    assert_eq!(check(&harness, json!({ "method": "GET", "path": "/" })).await.json()["policies"], json!([]));
    // What GET reported can be put again.
    assert_eq!(put(&harness, &rules).await.json(), rules);
}

#[tokio::test]
async fn a_path_with_dot_segments_is_refused_before_it_escapes_a_rule() {
    let harness = Harness::start().await;
    let tier = json!({ "kind": "fixed", "limit": 2, "period": "1h", "align": "first" });
    let secret = json!({ "id": "secret", "match": { "path": "/v1/secret" }, "tiers": [tier] });
    put(&harness, &json!({ "policies": [secret] })).await;
    for path in ["/v1/x/../secret", "/v1/./secret", "/v1/%2e/secret", "/v1/x/%2E./secret?a", "/v1/x%2f..%2fsecret"] {
        let asked = json!({ "path": path }).to_string();
        let problem = harness.ask("POST /v1/services/shop/check", &[], asked).await.refuses(422, "bad_member");
        assert_eq!(problem["member"], "path", "{path}");
    }
    for path in ["//v1/secret", "/v1/%73ecret?back=/../x"] {
        assert_eq!(check(&harness, json!({ "path": path })).await.json()["policies"][0]["id"], "secret", "{path}");
    }
}

#[tokio::test]
async fn what_can_name_no_service_says_which_names_can() {
    let harness = Harness::start().await;
    for call in ["PUT /v1/services/a%2Fb/rules", "GET /v1/services/a%2Fb/rules", "POST /v1/services/-a/check"] {
        let problem = harness.ask(call, &[], "{}").await.refuses(404, "unknown_service");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("is not a valid service name: use 1 to 64 of"), "{detail}");
    }
}

#[tokio::test]
async fn rules_are_accepted_as_a_whole_or_not_at_all() {
    let harness = Harness::start().await;
    put(&harness, &limit(2)).await;
    let good = limit(5)["policies"][0].clone();
    let bad = json!({ "policies": [good, {
        "id": "b", "key": ["caller", "user"],
        "tiers": [{ "kind": "gate", "period": "1s" }, { "kind": "concurrent", "limit": 1, "lease": "0s" }]
    }, { "id": "c", "tiers": [{ "kind": "fixed", "limit": "10", "period": "1s" }] }] });
    let problem = put(&harness, &bad).await.refuses(422, "bad_member");
    let places: Vec<&str> =
        problem["faults"].as_array().unwrap().iter().map(|fault| fault["place"].as_str().unwrap()).collect();
    assert_eq!(places, ["policies[1].key[1]", "policies[1].tiers[1]", "policies[2].tiers[0].limit"]);
    assert_eq!(problem["member"], places[0]);
    let leases = json!({ "policies": [{ "id": "c", "tiers": [{ "kind": "concurrent", "limit": 1, "lease": "1s" }] }] });
    assert_eq!(put(&harness, &leases).await.refuses(422, "bad_member")["member"], "policies[0].tiers[0]");
    put(&harness, &json!([])).await.refuses(422, "bad_member");
    put(&harness, &json!({})).await.refuses(422, "bad_member");
    put(&harness, &json!({ "policies": [], "more": 1 })).await.refuses(422, "bad_member");
    let twice = r#"{"policies": [{"id": "a", "key": {"by": 1, "by": 2}}]}"#;
    harness.ask(RULES, &[], twice).await.refuses(422, "bad_member");
    let problem = harness.ask(RULES, &[], r#"{"policies": [], "policies": []}"#).await.refuses(422, "bad_member");
    assert_eq!(problem["detail"], "duplicate field `policies`");
    assert_eq!(harness.ask(RULES, &[], "{\"policies\": [").await.refuses(400, "bad_json")["line"], 1);
    let yaml = [("content-type", "application/yaml")];
    harness.ask(RULES, &yaml, "policies: [").await.refuses(400, "bad_yaml");
    harness.ask(RULES, &yaml, &b"\xff"[..]).await.refuses(400, "bad_yaml");
    let bomb = (0..9).fold("a0: &a0 [x]\n".to_owned(), |bomb, n| {
        let many = vec![format!("*a{n}"); 9].join(", ");
        bomb + &format!("a{}: &a{} [{many}]\n", n + 1, n + 1)
    });
    harness.ask(RULES, &yaml, bomb).await.refuses(400, "bad_yaml");
    let (tiers, message) = (json!([{ "kind": "gate", "period": "1s" }]), "x".repeat(64 << 10));
    let long = json!({ "policies": [{ "id": "a", "tiers": tiers, "message": message }] });
    assert!([413].contains(&put(&harness, &long).await.status.as_u16()));
    assert_eq!(harness.get("/v1/services/shop/rules").await.json(), limit(2));
}

#[tokio::test]
async fn a_check_shows_remaining_quota_and_retry_after() {
    let harness = Harness::start().await;
    put(&harness, &limit(2)).await;
    let alice = || json!({ "method": "GET", "path": "/v1/x?q", "caller": "alice" });
    let first = check(&harness, alice()).await;
    let tier = &first.json()["policies"][0]["tiers"][0];
    assert_eq!((&tier["kind"], &tier["limit"], &tier["remaining"]), (&json!("fixed"), &json!(2), &json!(1)));
    assert!((3_590_000..=3_600_000).contains(&tier["reset_ms"].as_u64().unwrap()), "{tier}");
    assert_eq!(first.json()["retry_after_ms"], Value::Null);
    assert!(first.header("ratelimit").unwrap().starts_with("\"each\";r=1;t="), "{first:?}");
    assert_eq!(first.header("ratelimit-policy"), Some("\"each\";q=2;w=3600"));
    let peek = check(&harness, json!({ "caller": "alice", "cost": 0 })).await;
    assert_eq!(remaining(&peek), 1);
    assert_eq!(check(&harness, alice()).await.status, 200);

    let refused = check(&harness, alice()).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("content-type"), Some("application/json"));
    let body = refused.json();
    assert_eq!((&body["allowed"], &body["message"]), (&json!(false), &json!("slow down")));
    let wait = body["retry_after_ms"].as_u64().unwrap();
    assert_eq!(refused.header("retry-after"), Some(wait.div_ceil(1000).to_string().as_str()));
    assert!((3_590_000..=3_600_000).contains(&wait), "{body}");
    for field in ["ratelimit", "ratelimit-policy"] {
        Parser::new(refused.header(field).unwrap().as_bytes()).parse::<List>().unwrap();
    }
    assert_eq!(check(&harness, json!({ "caller": "bob", "cost": 2 })).await.status, 200);
    assert_eq!(check(&harness, json!({ "caller": "carol", "cost": 3 })).await.status, 429);

    let metrics = String::from_utf8(harness.get("/metrics").await.body.to_vec()).unwrap();
    let refused = r#"dripfeed_limit_decisions_total{service="shop",policy="each",verdict="refused"} 2"#;
    assert!(metrics.contains(refused), "{metrics}");
}

#[tokio::test]
async fn a_refused_check_is_not_charged() {
    let harness = Harness::start().await;
    let all = json!({ "id": "all", "tiers": [{ "kind": "fixed", "limit": 100, "period": "1h" }] });
    let each = json!({ "id": "each", "key": ["header:x-region"], "tiers": [
        { "kind": "fixed", "limit": 100, "period": "1h" }, { "kind": "log", "limit": 1, "period": "1h" },
    ] });
    put(&harness, &json!({ "policies": [all, each] })).await;
    let from = |region: &str| json!({ "headers": { "X-Region": region } });
    assert_eq!(remaining(&check(&harness, from("eu")).await), 99);
    for _ in 0..5 {
        assert_eq!(check(&harness, from("eu")).await.status, 429);
    }
    let other = check(&harness, from("us")).await;
    assert_eq!(remaining(&other), 98);
    assert_eq!(other.json()["policies"][1]["tiers"][0]["remaining"], 99);
}

#[tokio::test]
async fn rules_in_yaml_without_its_content_type_are_refused_with_it() {
    let harness = Harness::start().await;
    for media_type in ["application/x-www-form-urlencoded", "text/plain", "application/json"] {
        let headers = [("content-type", media_type)];
        let answer = harness.ask("PUT /v1/services/shop/rules", &headers, "policies: []").await;
        let problem = answer.refuses(400, "bad_json");
        assert!(problem["detail"].as_str().unwrap().contains("Content-Type: application/yaml"), "{problem}");
    }
    let cut = harness.ask("PUT /v1/services/shop/rules", &[], "{\"policies\": [").await.refuses(400, "bad_json");
    assert_eq!(cut["column"], 14, "{cut}");
}

#[tokio::test]
async fn query_parameters_that_a_service_does_not_have_are_refused() {
    let harness = Harness::start().await;
    put(&harness, &limit(2)).await;
    harness.get("/v1/services?limit=1").await.refuses(422, "bad_query");
    harness.ask("POST /v1/services/shop/check?cost=0", &[], "{}").await.refuses(422, "bad_query");
    assert_eq!(remaining(&check(&harness, json!({})).await), 1, "nothing was charged before");
}

#[tokio::test]
async fn an_invalid_check_is_refused_with_its_place() {
    let harness = Harness::start().await;
    put(&harness, &limit(2)).await;
    for (body, member) in [
        (json!({ "method": 1 }), "method"),
        (json!({ "cost": -1 }), "cost"),
        (json!({ "cost": 9_007_199_254_740_992_u64 }), "cost"),
        (json!({ "ip": "here" }), "ip"),
        (json!({ "headers": { "a b": "x" } }), "headers.a b"),
        (json!({ "headers": { "a": "x\ny" } }), "headers.a"),
        (json!({ "headers": { "a": 1 } }), "headers.a"),
        (json!({ "headers": { "A": "x", "a": "y" } }), "headers.a"),
        (json!({ "body": {} }), "body"),
    ] {
        let problem =
            harness.ask("POST /v1/services/shop/check", &[], body.to_string()).await.refuses(422, "bad_member");
        assert_eq!(problem["member"], member, "{problem}");
    }
    harness.ask("POST /v1/services/shop/check", &[], "{").await.refuses(400, "bad_json");
}

#[tokio::test]
async fn a_changed_limit_applies_at_once_and_keeps_its_consumption() {
    let harness = Harness::start().await;
    put(&harness, &limit(3)).await;
    let alice = || json!({ "caller": "alice" });
    assert_eq!(remaining(&check(&harness, json!({ "caller": "alice", "cost": 3 })).await), 0);
    assert_eq!(check(&harness, alice()).await.status, 429);
    put(&harness, &limit(5)).await;
    assert_eq!(remaining(&check(&harness, alice()).await), 1);
    put(&harness, &limit(2)).await;
    assert_eq!(check(&harness, alice()).await.status, 429);
    assert_eq!(remaining(&check(&harness, json!({ "caller": "bob" })).await), 1);
    put(&harness, &limit(5)).await;
    assert_eq!(remaining(&check(&harness, alice()).await), 0);
}

/// How soon, `PERIOD` of `crates/limit/src/registry.rs` says.
#[tokio::test]
async fn a_change_reaches_other_intakes() {
    let harness = Harness::start().await;
    let (other, _) = harness.intake(intake_settings()).await;
    let other = other.entry_point();
    let seen = async |expected: Option<Value>| {
        let begun = Instant::now();
        loop {
            let answer = ask(other.clone(), request("GET /v1/services/shop/rules", &[], "")).await;
            if expected.as_ref().map_or(answer.status == 404, |rules| answer.status == 200 && answer.json() == *rules) {
                break;
            }
            assert!(begun.elapsed() <= PATIENCE, "{answer:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    put(&harness, &limit(2)).await;
    seen(Some(limit(2))).await;
    // Both count together.
    assert_eq!(remaining(&check_at(other.clone(), &[], &json!({ "caller": "alice" })).await), 1);
    assert_eq!(remaining(&check(&harness, json!({ "caller": "alice" })).await), 0);
    put(&harness, &limit(3)).await;
    seen(Some(limit(3))).await;
    assert_eq!(check_at(other.clone(), &[], &json!({ "caller": "alice" })).await.status, 200);
    harness.ask("DELETE /v1/services/shop/rules", &[], "").await;
    seen(None).await;
}

/// The arithmetic of the published sliding window counter: a quarter into a window, 40 · 3/4 + 5 = 35 of 40.
#[tokio::test]
async fn a_sliding_window_weighs_the_previous_window_as_published() {
    const PERIOD_MS: u64 = 4000;
    let harness = Harness::start().await;
    let tier = json!({ "kind": "sliding", "limit": 40, "period": "4s" });
    put(&harness, &json!({ "policies": [{ "id": "window", "tiers": [tier] }] })).await;
    let now_ms = async || {
        let (seconds, micros): (u64, u64) = harness.store.command(&redis::cmd("TIME")).await.unwrap();
        seconds * 1000 + micros / 1000
    };
    let reach = async |ms: u64| {
        while now_ms().await < ms {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    // Where the machine stood still in the middle of a step, the step is taken again in a later window.
    let mut window = now_ms().await / PERIOD_MS + 1;
    loop {
        reach(window * PERIOD_MS).await;
        let filled = check(&harness, json!({ "cost": 40 })).await;
        if now_ms().await / PERIOD_MS == window && filled.status == 200 {
            break;
        }
        window += 2;
    }
    let next = (window + 1) * PERIOD_MS;
    reach(next + PERIOD_MS / 4).await;
    let begun = now_ms().await;
    let answer = check(&harness, json!({ "cost": 5 })).await;
    let ended = now_ms().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    // 40 · (W − e)/W weighed and rounded up, and 5 of this window.
    let left = |now: u64| 40 - 5 - (40 * (next + PERIOD_MS - now)).div_ceil(PERIOD_MS);
    assert!(begun >= next + PERIOD_MS / 4 && left(next + PERIOD_MS / 4) == 5);
    assert!((left(begun)..=left(ended) + 1).contains(&remaining(&answer)), "{answer:?} between {begun} and {ended}");
    assert_eq!(check(&harness, json!({ "cost": 36 })).await.status, 429, "36 don't pass within this window");
}

#[tokio::test]
async fn an_invalid_service_name_is_not_found_without_querying_redis() {
    let mut harness = Harness::start().await;
    harness.redis.kill().await.unwrap();
    for name in ["-b", ".", "b%2Fb", "%7Bb%7D", "b:limit", "%FF", "b%00", "\u{432}", &"x".repeat(65)] {
        let path = http::uri::PathAndQuery::try_from(format!("/v1/services/{name}/rules"));
        let Ok(path) = path else { continue };
        for line in [format!("GET {path}"), format!("PUT {path}"), format!("DELETE {path}")] {
            harness.ask(&line, &[], limit(1).to_string()).await.refuses(404, "unknown_service");
        }
    }
}

#[tokio::test]
async fn while_redis_is_unavailable_each_rule_follows_on_store_error() {
    let mut harness = Harness::start().await;
    let policy = |method: &str, on_store_error: &str| {
        json!({
            "id": method, "match": { "methods": [method] }, "on_store_error": on_store_error,
            "tiers": [{ "kind": "fixed", "limit": 3, "period": "1h", "align": "first" }]
        })
    };
    let rules = json!({ "policies": [policy("GET", "closed"), policy("PUT", "open"), policy("POST", "local")] });
    put(&harness, &rules).await;
    harness.redis.kill().await.unwrap();
    let ask = async |method: &str| {
        harness.ask("POST /v1/services/shop/check", &[], json!({ "method": method }).to_string()).await
    };
    let closed = ask("GET").await;
    closed.refuses(503, "store_unavailable");
    assert_eq!(closed.header("retry-after"), Some("1"));
    for _ in 0..5 {
        assert_eq!(ask("PUT").await.status, 200);
    }
    let local: Vec<u16> = [ask("POST").await, ask("POST").await, ask("POST").await, ask("POST").await]
        .map(|answer| answer.status.as_u16())
        .into();
    assert_eq!(local, [200, 200, 200, 429]);
    assert_eq!(harness.get("/v1/services/shop/rules").await.json(), rules);
    put(&harness, &limit(1)).await.refuses(503, "store_unavailable");
    harness.ask("DELETE /v1/services/shop/rules", &[], "").await.refuses(503, "store_unavailable");
    let metrics = String::from_utf8(harness.get("/metrics").await.body.to_vec()).unwrap();
    let unchecked = r#"dripfeed_limit_decisions_total{service="shop",policy="PUT",verdict="unchecked"} 5"#;
    assert!(metrics.contains(unchecked), "{metrics}");
}

#[tokio::test]
async fn a_check_at_maxmemory_says_what_is_missing() {
    let harness = Harness::start().await;
    put(&harness, &limit(3)).await;
    harness.store.command::<()>(redis::cmd("CONFIG").arg(&["SET", "maxmemory", "1"])).await.unwrap();
    let problem = check(&harness, json!({})).await.refuses(507, "store_full");
    assert_eq!(problem["outcome"], "not_stored", "{problem}");
}

/// A key whose secret is its id, for the service `shop`.
fn key(id: &str) -> ApiKey {
    ApiKey {
        id: id.to_owned(),
        sha256: Sha256::digest(id).into(),
        scopes: vec![Scope::Submit, Scope::Operate],
        buckets: BucketSet::All,
        services: ServiceSet::Named(BTreeSet::from(["shop".parse().unwrap()])),
        priority: dripfeed_job::Priority::Normal,
    }
}

#[tokio::test]
async fn the_key_is_the_default_caller_of_a_check() {
    let harness = Harness::with(vec![settings("b")], vec![key("east"), key("west")], &[]).await;
    let put = harness.ask(RULES, &[("dripfeed-key", "east")], limit(1).to_string()).await;
    assert_eq!(put.status, 200, "{put:?}");
    let check = async |key: &str, body: Value| {
        let headers = [("authorization", &*format!("Bearer {key}"))];
        check_at(harness.intake.entry_point(), &headers, &body).await.status.as_u16()
    };
    // The first decision is the slowest, and one that came too late may be charged: asked again it would be refused.
    assert_eq!(check("west", json!({ "caller": "first" })).await, 200);
    assert_eq!(check("east", json!({})).await, 200);
    assert_eq!(check("east", json!({})).await, 429);
    assert_eq!(check("west", json!({})).await, 200);
    assert_eq!(check("west", json!({ "caller": "alice" })).await, 200);
    assert_eq!(check("east", json!({ "caller": "alice" })).await, 429, "a caller is the same through any gateway");
    let others = harness.ask("POST /v1/services/mail/check", &[("dripfeed-key", "east")], "{}").await;
    others.refuses(403, "forbidden");
}

#[tokio::test]
async fn who_changed_which_rules_from_what_to_what_is_in_the_audit_log_of_those_who_may_read_the_service() {
    let reader = |services| ApiKey { scopes: vec![Scope::Read], services, ..key("reader") };
    let of = |name: &str| ServiceSet::Named(BTreeSet::from([name.parse().unwrap()]));
    let other = ApiKey { id: "other".to_owned(), sha256: Sha256::digest("other").into(), ..reader(of("mail")) };
    let keys = vec![key("east"), reader(ServiceSet::All), other];
    let harness = Harness::with(vec![settings("b")], keys, &[]).await;
    for (line, body) in [(RULES, limit(1)), (RULES, limit(2)), ("DELETE /v1/services/shop/rules", Value::Null)] {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        assert!(harness.ask(line, &[("dripfeed-key", "east")], body).await.status.is_success());
    }
    let read = async |key: &str, query: &str| {
        harness.ask(&format!("GET /v1/services/audit{query}"), &[("dripfeed-key", key)], "").await
    };
    let entries = read("reader", "").await.json()["items"].clone();
    let shown = |entry: &Value| ["key", "action", "service"].map(|member| entry[member].as_str().unwrap().to_owned());
    let all: Vec<_> = entries.as_array().unwrap().iter().map(shown).collect();
    assert_eq!(all, ["delete", "change", "create"].map(|action| ["east", action, "shop"]));
    assert_eq!(entries[1]["detail"], "policies.each.tiers.0.limit: 1 → 2");
    assert!(entries[1]["at"].as_str().unwrap().ends_with('Z'));
    for (query, count) in [("?limit=1", 1), ("?service=shop", 3), ("?service=mail", 0)] {
        assert_eq!(read("reader", query).await.json()["items"].as_array().unwrap().len(), count, "{query}");
    }
    assert_eq!(read("other", "?service=shop").await.json()["items"], json!([]), "it may not read this service");
    read("east", "").await.refuses(403, "forbidden");
    read("reader", "?service=a/b").await.refuses(422, "bad_query");
}

#[tokio::test]
async fn rules_that_a_caller_changes_at_once_stand_not_all_before_those_of_others() {
    const MANY: usize = 40;
    let harness = Harness::with(vec![settings("b")], vec![key("flooder"), key("tenant")], &[]).await;
    let answered = Arc::new(AtomicUsize::new(0));
    let put = |line: &str, key: &str| {
        let request = request(line, &[("dripfeed-key", key)], limit(1).to_string());
        let (front, answered) = (harness.intake.entry_point(), Arc::clone(&answered));
        tokio::spawn(async move {
            let status = ask(front, request).await.status.as_u16();
            assert!([200, 204, 404].contains(&status), "{status}");
            answered.fetch_add(1, Ordering::Relaxed)
        })
    };
    for line in [RULES, "DELETE /v1/services/shop/rules"] {
        answered.store(0, Ordering::Relaxed);
        let flood: Vec<_> = (0..MANY).map(|_| put(line, "flooder")).collect();
        let before = put(RULES, "tenant").await.unwrap();
        assert!(before < MANY / 2, "{line}: behind {before} of {MANY}");
        join_all(flood).await;
    }
}
