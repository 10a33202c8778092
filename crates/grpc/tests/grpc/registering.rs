use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dripfeed_auth::Scope;
use dripfeed_grpc::proto::{
    Rate, RegisterServiceRequest, Rule, ShouldForwardRequestResponse, ShouldForwardsRequestRequest,
};
use futures::future::join_all;
use serde_json::{Value, json};
use tonic::Code;

use crate::harness::{Harness, key, refused, with_key};

fn rule(service_id: i32, requests_per_unit: i32, unit: i32) -> RegisterServiceRequest {
    let rate = Some(Rate { requests_per_unit, unit });
    let error_message = "retry-with-exponential-backoff".to_owned();
    let rule = Rule { field: String::new(), rate, error_message };
    RegisterServiceRequest { service_id, rule: Some(rule), ..RegisterServiceRequest::default() }
}

fn rules(service: &str, rules: &Value) -> RegisterServiceRequest {
    RegisterServiceRequest {
        service: service.to_owned(),
        rules: rules.to_string(),
        ..RegisterServiceRequest::default()
    }
}

fn limit(limit: u64) -> Value {
    let tier = json!({ "kind": "fixed", "limit": limit, "period": "1h", "align": "first" });
    json!({ "policies": [{ "id": "each", "key": ["caller"], "tiers": [tier] }] })
}

fn of_shop(caller: &str) -> ShouldForwardsRequestRequest {
    ShouldForwardsRequestRequest { service: "shop".to_owned(), request: caller.to_owned(), ..Default::default() }
}

async fn ask(harness: &Harness, request: ShouldForwardsRequestRequest) -> ShouldForwardRequestResponse {
    harness.limiter().await.should_forward_request(request).await.unwrap().into_inner()
}

#[tokio::test]
async fn a_published_client_registers_a_service_and_checks() {
    let harness = Harness::start().await;
    let registered = harness.limiter().await.register_service(rule(1, 10, 1)).await.unwrap().into_inner();
    assert_eq!((registered.status, registered.error.as_str()), (1, ""));
    let request = |text: &str| ShouldForwardsRequestRequest {
        service_id: 1,
        request: text.to_owned(),
        ..ShouldForwardsRequestRequest::default()
    };
    let mut forwarded = 0;
    let mut last = ShouldForwardRequestResponse::default();
    for _ in 0..15 {
        last = ask(&harness, request("{test_request}")).await;
        forwarded += u32::from(last.should_forward);
    }
    assert_eq!(forwarded, 10);
    assert_eq!(last.message, "retry-with-exponential-backoff");
    assert!((1..=120_000).contains(&last.retry_after_ms.unwrap()), "{last:?}");
    assert!(ask(&harness, request("another")).await.should_forward);
}

#[tokio::test]
async fn an_invalid_registration_is_refused() {
    let harness = Harness::start().await;
    let mut client = harness.limiter().await;
    let detail = refused(client.register_service(rule(1, 10, 8)).await, Code::InvalidArgument);
    assert!(detail.starts_with("rule.rate.unit: 8 is not a valid unit"), "{detail}");
    refused(client.register_service(rule(0, 10, 1)).await, Code::InvalidArgument);
    client.register_service(rules("shop", &limit(2))).await.unwrap();
    let leases = json!({ "policies": [{ "id": "a", "tiers": [{ "kind": "concurrent", "limit": 1, "lease": "1s" }] }] });
    let detail = refused(client.register_service(rules("shop", &leases)).await, Code::InvalidArgument);
    assert!(detail.starts_with("rules: policies[0].tiers[0]: "), "{detail}");
    let kept = harness.services.rules(&"shop".parse().unwrap()).unwrap().unwrap();
    assert_eq!(kept.document(), &limit(2));
    refused(client.register_service(rules("a/b", &limit(2))).await, Code::NotFound);
    let long = json!({ "policies": [], "x": "x".repeat(200 << 10) });
    refused(client.register_service(rules("shop", &long)).await, Code::OutOfRange);
}

/// Of a longer message, which is a header, clients show neither the code nor the text.
#[tokio::test]
async fn a_refusal_is_short_however_long_the_invalid_input() {
    let harness = Harness::start().await;
    let mut client = harness.limiter().await;
    let faults: Vec<Value> =
        (0..100).map(|n| json!({ "id": format!("a {n}"), "tiers": [], "key": ["x", "y"] })).collect();
    let unknown = json!({ "policies": [{ "id": "a", "ä".repeat(20_000): 1 }] });
    for (invalid, begin) in [(json!({ "policies": faults }), "rules: policies[0].id: `a 0`"), (unknown, "rules: ")] {
        let detail = refused(client.register_service(rules("shop", &invalid)).await, Code::InvalidArgument);
        assert!(detail.starts_with(begin) && detail.ends_with('…') && detail.len() <= 2048, "{detail}");
    }
    harness.register(limit(1)).await;
    let headers = HashMap::from([("x y".repeat(10_000), String::new())]);
    let asked = ShouldForwardsRequestRequest { headers, ..of_shop("") };
    let detail = refused(client.should_forward_request(asked).await, Code::InvalidArgument);
    assert!(detail.starts_with("headers[\"x yx y") && detail.len() <= 2048, "{detail}");
}

#[tokio::test]
async fn rules_may_be_as_long_as_over_http() {
    let harness = Harness::start().await;
    let mut longest = limit(1);
    let message = (64 << 10) - limit(1).to_string().len() - r#","message":"""#.len();
    longest["policies"][0]["message"] = json!("x".repeat(message));
    assert_eq!(longest.to_string().len(), 64 << 10);
    harness.limiter().await.register_service(rules("shop", &longest)).await.unwrap();
}

#[tokio::test]
async fn a_header_is_given_once_in_whatever_case() {
    let harness = Harness::start().await;
    harness.register(limit(1)).await;
    let headers = [("X-Region", "eu"), ("x-region", "us")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let asked = ShouldForwardsRequestRequest { headers: headers.into(), ..of_shop("") };
    let detail = refused(harness.limiter().await.should_forward_request(asked).await, Code::InvalidArgument);
    assert!(detail.contains("given twice"), "{detail}");
}

#[tokio::test]
async fn a_check_has_the_same_input_and_result_as_over_http() {
    let harness = Harness::start().await;
    let tier = json!({ "kind": "fixed", "limit": 2, "period": "1h", "align": "first" });
    let policy = json!({
        "id": "put", "match": { "methods": ["PUT"], "path": "/v1/{org}" },
        "key": ["tenant", "header:x-region", "ip"], "tiers": [tier]
    });
    let mut client = harness.limiter().await;
    client.register_service(rules("shop", &json!({ "policies": [policy] }))).await.unwrap();
    let put = |org: &str, region: &str, ip: &str, cost| ShouldForwardsRequestRequest {
        method: "PUT".to_owned(),
        path: format!("/v1/{org}?x=1"),
        headers: HashMap::from([("X-Region".to_owned(), region.to_owned())]),
        ip: ip.to_owned(),
        cost,
        ..of_shop("")
    };
    let first = ask(&harness, put("acme", "eu", "192.0.2.1", None)).await;
    assert!(first.should_forward && first.message.is_empty() && first.retry_after_ms.is_none());
    let [policy] = first.policies.try_into().unwrap();
    assert_eq!((policy.id.as_str(), policy.mode.as_str(), policy.allowed), ("put", "enforce", true));
    let [tier] = policy.tiers.try_into().unwrap();
    assert_eq!((tier.kind.as_str(), tier.limit, tier.remaining), ("fixed", 2, 1));
    assert!((3_590_000..=3_600_000).contains(&tier.reset_ms), "{tier:?}");
    let left = |answer: ShouldForwardRequestResponse| answer.policies[0].tiers[0].remaining;
    assert_eq!(left(ask(&harness, put("acme", "eu", "192.0.2.1", Some(0))).await), 1);
    assert_eq!(left(ask(&harness, put("acme", "us", "192.0.2.1", Some(2))).await), 0);
    assert_eq!(left(ask(&harness, put("acme", "eu", "192.0.2.2", None)).await), 1);
    assert_eq!(left(ask(&harness, put("globex", "eu", "192.0.2.1", None)).await), 1);
    assert!(!ask(&harness, put("acme", "eu", "192.0.2.1", Some(2))).await.should_forward);
    refused(client.should_forward_request(put("acme", "eu", "here", None)).await, Code::InvalidArgument);
    refused(client.should_forward_request(put("acme", "a\nb", "", None)).await, Code::InvalidArgument);
    refused(client.should_forward_request(put("acme", "", "", Some(1 << 53))).await, Code::InvalidArgument);
    refused(client.should_forward_request(put("x/../acme", "", "", None)).await, Code::InvalidArgument);
    refused(client.should_forward_request(put("%2e/acme", "", "", None)).await, Code::InvalidArgument);
    let unknown = ShouldForwardsRequestRequest { service: "mail".to_owned(), ..of_shop("") };
    refused(client.should_forward_request(unknown).await, Code::NotFound);
}

#[tokio::test]
async fn keys_and_scopes_are_the_same_as_over_http() {
    let keys = vec![key("asker", &[Scope::Submit]), key("other", &[Scope::Submit]), key("operator", &[Scope::Operate])];
    let harness = Harness::with(keys, None).await;
    let mut client = harness.limiter().await;
    refused(client.register_service(rules("shop", &limit(1))).await, Code::Unauthenticated);
    refused(client.register_service(with_key("nobody", rules("shop", &limit(1)))).await, Code::Unauthenticated);
    refused(client.register_service(with_key("asker", rules("shop", &limit(1)))).await, Code::PermissionDenied);
    refused(client.register_service(with_key("operator", rules("mail", &limit(1)))).await, Code::PermissionDenied);
    client.register_service(with_key("operator", rules("shop", &limit(1)))).await.unwrap();
    let recorded = harness.services.audit_trail().await.unwrap().remove(0);
    let recorded = (recorded.by.as_deref(), recorded.action.as_str(), recorded.service.as_str());
    assert_eq!(recorded, (Some("operator"), "create", "shop"));
    refused(client.should_forward_request(with_key("operator", of_shop(""))).await, Code::PermissionDenied);
    let ask = async |key: &str, caller: &str| {
        let answer = client.clone().should_forward_request(with_key(key, of_shop(caller))).await;
        answer.unwrap().into_inner().should_forward
    };
    // Who names no caller is known by the key.
    assert!(ask("asker", "").await && !ask("asker", "").await);
    assert!(ask("other", "").await && ask("other", "alice").await);
    assert!(!ask("asker", "alice").await);
}

#[tokio::test]
async fn while_redis_is_unavailable_a_closed_limit_fails_and_an_open_one_passes() {
    let mut harness = Harness::start().await;
    let mut client = harness.limiter().await;
    client.register_service(rules("shop", &limit(1))).await.unwrap();
    let mut open = limit(1);
    open["policies"][0]["on_store_error"] = json!("open");
    client.register_service(rules("open", &open)).await.unwrap();
    harness.redis.kill().await.unwrap();
    refused(client.should_forward_request(of_shop("alice")).await, Code::Unavailable);
    let asked = ShouldForwardsRequestRequest { service: "open".to_owned(), ..of_shop("alice") };
    for _ in 0..3 {
        assert!(client.should_forward_request(asked.clone()).await.unwrap().into_inner().should_forward);
    }
    refused(client.register_service(rules("shop", &limit(2))).await, Code::Unavailable);
}

#[tokio::test]
async fn a_check_has_a_bounded_number_of_headers_and_bytes() {
    let harness = Harness::start().await;
    harness.register(limit(1)).await;
    let headers = (0..129).map(|n| (format!("x-{n}"), String::new())).collect();
    let many = ShouldForwardsRequestRequest { headers, ..of_shop("alice") };
    let detail = refused(harness.limiter().await.should_forward_request(many).await, Code::InvalidArgument);
    assert!(detail.starts_with("headers: more than 128"), "{detail}");
    let long = ShouldForwardsRequestRequest { path: format!("/{}", "x".repeat(32 << 10)), ..of_shop("alice") };
    let detail = refused(harness.limiter().await.should_forward_request(long).await, Code::InvalidArgument);
    assert!(detail.contains("at most 32768 bytes together"), "{detail}");
}

/// However many registrations one caller sends at once, that of another waits behind few of them.
#[tokio::test]
async fn one_callers_registrations_leave_the_registry_to_others() {
    const MANY: usize = 40;
    let harness = Harness::with(vec![key("one", &[Scope::Operate]), key("other", &[Scope::Operate])], None).await;
    let client = harness.limiter().await;
    let registered = Arc::new(AtomicUsize::new(0));
    let register = |key: &str| {
        let request = with_key(key, rules("shop", &limit(1)));
        let (mut client, registered) = (client.clone(), Arc::clone(&registered));
        tokio::spawn(async move {
            client.register_service(request).await.unwrap();
            registered.fetch_add(1, Ordering::Relaxed)
        })
    };
    // They go over one connection, in this order.
    let flood: Vec<_> = (0..MANY).map(|_| register("one")).collect();
    let before = register("other").await.unwrap();
    assert!(before < MANY / 2, "behind {before} of {MANY}");
    join_all(flood).await;
}
