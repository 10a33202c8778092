use dripfeed_auth::Scope;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::{Entry, RateLimitOverride};
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::rate_limit::Unit;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_response::{Code as Verdict, DescriptorStatus};
use envoy_types::pb::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
use envoy_types::pb::google::protobuf::UInt64Value;
use serde_json::{Value, json};
use tonic::Code;

use crate::harness::{Harness, key, refused, with_key};

fn descriptor(entries: &[(&str, &str)]) -> RateLimitDescriptor {
    let entry = |(key, value): &(&str, &str)| Entry { key: (*key).to_owned(), value: (*value).to_owned() };
    RateLimitDescriptor { entries: entries.iter().map(entry).collect(), ..RateLimitDescriptor::default() }
}

fn request(descriptors: &[RateLimitDescriptor]) -> RateLimitRequest {
    RateLimitRequest { domain: "shop".to_owned(), descriptors: descriptors.to_vec(), hits_addend: 0 }
}

async fn ask(harness: &Harness, request: RateLimitRequest) -> RateLimitResponse {
    harness.envoy().await.should_rate_limit(request).await.unwrap().into_inner()
}

fn left(status: &DescriptorStatus) -> (bool, u32) {
    (status.code() == Verdict::Ok, status.limit_remaining)
}

/// A count per value of `part`.
fn by(part: &str, limit: u64) -> Value {
    let tier = json!({ "kind": "fixed", "limit": limit, "period": "1h", "align": "first" });
    json!({ "id": part.replace(':', "-"), "key": [part], "tiers": [tier], "message": "slow down" })
}

#[tokio::test]
async fn envoy_gets_the_decision_on_a_request() {
    let harness = Harness::start().await;
    harness.register(json!({ "policies": [by("caller", 2)] })).await;
    let alice = || request(&[descriptor(&[("caller", "alice")])]);
    let first = ask(&harness, alice()).await;
    assert_eq!(first.overall_code(), Verdict::Ok);
    let [status] = first.statuses.try_into().unwrap();
    assert_eq!(left(&status), (true, 1));
    let limit = status.current_limit.as_ref().unwrap();
    assert_eq!((limit.name.as_str(), limit.requests_per_unit, limit.unit()), ("caller", 2, Unit::Hour));
    assert!((3_590..=3_600).contains(&status.duration_until_reset.unwrap().seconds), "{status:?}");
    ask(&harness, alice()).await;

    let refused = ask(&harness, alice()).await;
    assert_eq!((refused.overall_code(), left(&refused.statuses[0])), (Verdict::OverLimit, (false, 0)));
    assert_eq!(refused.raw_body, b"slow down");
    let field = |name: &str| {
        let field = refused.response_headers_to_add.iter().find(|field| field.key == name);
        field.unwrap_or_else(|| panic!("{name} is missing: {refused:?}")).value.clone()
    };
    assert!((3_590..=3_600).contains(&field("retry-after").parse::<u64>().unwrap()));
    assert!(field("ratelimit").starts_with("\"caller\";r=0;t="));
    assert_eq!(field("ratelimit-policy"), "\"caller\";q=2;w=3600");
    assert_eq!(field("x-ratelimit-remaining"), "0");
}

#[tokio::test]
async fn descriptors_are_decided_together() {
    let harness = Harness::start().await;
    harness.register(json!({ "policies": [by("caller", 5), by("header:plan", 1)] })).await;
    let asked =
        || [descriptor(&[("caller", "alice"), ("plan", "gold")]), descriptor(&[("caller", "bob"), ("plan", "free")])];
    let both = ask(&harness, request(&asked())).await;
    assert_eq!(both.overall_code(), Verdict::Ok);
    // The plan has the least remaining quota of both.
    assert_eq!(both.statuses.iter().map(left).collect::<Vec<_>>(), [(true, 0), (true, 0)]);

    let with_another = |descriptor| [self::descriptor(&[("caller", "alice"), ("plan", "other")]), descriptor];
    for _ in 0..3 {
        let refused = ask(&harness, request(&with_another(descriptor(&[("caller", "bob"), ("plan", "free")])))).await;
        assert_eq!(refused.overall_code(), Verdict::OverLimit);
        let codes: Vec<Verdict> = refused.statuses.iter().map(DescriptorStatus::code).collect();
        assert_eq!(codes, [Verdict::Ok, Verdict::OverLimit]);
    }
    let alice = ask(&harness, request(&[descriptor(&[("caller", "alice"), ("plan", "other")])])).await;
    assert_eq!(alice.overall_code(), Verdict::Ok, "nothing was charged");
}

#[tokio::test]
async fn entries_are_the_attributes_that_rules_count_by() {
    let harness = Harness::start().await;
    let endpoint = json!({
        "id": "endpoint", "match": { "methods": ["PUT"], "path": "/v1/{org}" }, "key": ["tenant", "endpoint"],
        "tiers": [{ "kind": "fixed", "limit": 9, "period": "90s", "align": "first" }]
    });
    harness.register(json!({ "policies": [by("ip", 3), by("header:generic_key", 2), endpoint] })).await;
    let from = |ip: &str, kind: &str| descriptor(&[("remote_address", ip), ("generic_key", kind)]);
    let status = |answer: RateLimitResponse| answer.statuses.into_iter().next().unwrap();
    assert_eq!(left(&status(ask(&harness, request(&[from("192.0.2.1", "slow")])).await)), (true, 1));
    assert_eq!(left(&status(ask(&harness, request(&[from("192.0.2.1", "slow")])).await)), (true, 0));
    let third = status(ask(&harness, request(&[from("192.0.2.1", "slow")])).await);
    assert_eq!((left(&third), third.current_limit.unwrap().name.as_str()), ((false, 0), "header-generic_key"));
    assert_eq!(left(&status(ask(&harness, request(&[from("192.0.2.1", "fast")])).await)), (true, 0), "of the address");
    assert_eq!(left(&status(ask(&harness, request(&[from("2001:db8::1", "fast")])).await)), (true, 0), "of the key");

    let put = descriptor(&[("method", "PUT"), ("path", "/v1/acme"), ("generic_key", "a"), ("remote_address", "::1")]);
    let hits = |hits| RateLimitDescriptor { hits_addend: Some(UInt64Value { value: hits }), ..put.clone() };
    assert_eq!(left(&status(ask(&harness, request(&[hits(0)])).await)), (true, 2), "0 asks without being charged");
    let two = RateLimitRequest { hits_addend: 2, ..request(std::slice::from_ref(&put)) };
    assert_eq!(left(&status(ask(&harness, two).await)), (true, 0));
}

#[tokio::test]
async fn unsupported_fields_are_refused() {
    let harness = Harness::start().await;
    harness.register(json!({ "policies": [by("caller", 2)] })).await;
    let mut client = harness.envoy().await;
    let limit = Some(RateLimitOverride { requests_per_unit: 1, unit: 1 });
    for (bad, place) in [
        (vec![], "descriptors"),
        (vec![descriptor(&[]); 17], "descriptors"),
        (vec![descriptor(&[]), RateLimitDescriptor { limit, ..descriptor(&[]) }], "descriptors[1].limit"),
        (vec![RateLimitDescriptor { is_negative_hits: true, ..descriptor(&[]) }], "descriptors[0].is_negative_hits"),
        (vec![descriptor(&[("caller", "a"), ("a b", "c")])], "descriptors[0].entries[1]"),
        (vec![descriptor(&[("remote_address", "here")])], "descriptors[0].entries[0]"),
        (vec![descriptor(&[("a", "b"); 129])], "descriptors[0].entries"),
        (vec![descriptor(&[("caller", "a"), ("caller", "b")])], "descriptors[0].entries[1]"),
        (vec![descriptor(&[("plan", "a"), ("method", "GET"), ("Plan", "b")])], "descriptors[0].entries[2]"),
    ] {
        let detail = refused(client.should_rate_limit(request(&bad)).await, Code::InvalidArgument);
        assert!(detail.starts_with(&format!("{place}: ")), "{detail}");
    }
    let unknown = RateLimitRequest { domain: "mail".to_owned(), ..request(&[descriptor(&[])]) };
    refused(client.should_rate_limit(unknown).await, Code::NotFound);
}

/// Each descriptor is checked against all policies, in one script that nobody else runs beside.
#[tokio::test]
async fn descriptors_together_cost_no_more_than_one_request_may() {
    let harness = Harness::start().await;
    let tiers = vec![json!({ "kind": "sliding", "limit": 100, "period": "1h" }); 16];
    let policies = (0..25).map(|n| json!({ "id": n.to_string(), "key": ["caller"], "tiers": tiers }));
    harness.register(json!({ "policies": policies.collect::<Vec<_>>() })).await;
    let callers = |many: usize| (0..many).map(|n| descriptor(&[("caller", &n.to_string())])).collect::<Vec<_>>();
    let mut client = harness.envoy().await;
    let detail = refused(client.should_rate_limit(request(&callers(5))).await, Code::InvalidArgument);
    assert!(detail.starts_with("descriptors: they are checked against 2000 tiers together"), "{detail}");
    let answer = ask(&harness, request(&callers(4))).await;
    assert_eq!(answer.statuses.iter().map(left).collect::<Vec<_>>(), [(true, 99); 4], "nothing was charged before");
    // The same caller counts once.
    assert_eq!(ask(&harness, request(&vec![descriptor(&[("caller", "0")]); 16])).await.statuses.len(), 16);
}

#[tokio::test]
async fn the_key_is_the_default_caller_of_envoy() {
    let harness = Harness::with(vec![key("edge", &[Scope::Submit]), key("reader", &[Scope::Read])], None).await;
    harness.register(json!({ "policies": [by("caller", 1)] })).await;
    let mut client = harness.envoy().await;
    let asked = || request(&[descriptor(&[])]);
    refused(client.should_rate_limit(asked()).await, Code::Unauthenticated);
    refused(client.should_rate_limit(with_key("reader", asked())).await, Code::PermissionDenied);
    let verdict = async |descriptors: &[RateLimitDescriptor]| {
        let answer = client.clone().should_rate_limit(with_key("edge", request(descriptors))).await;
        answer.unwrap().into_inner().overall_code()
    };
    assert_eq!(verdict(&[descriptor(&[])]).await, Verdict::Ok);
    assert_eq!(verdict(&[descriptor(&[("caller", "alice")])]).await, Verdict::Ok);
    assert_eq!(verdict(&[descriptor(&[])]).await, Verdict::OverLimit);
}
