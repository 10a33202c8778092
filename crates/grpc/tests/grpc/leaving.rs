//! Callers that leave before they are answered, and calls that wait for a turn.

use axum::body::Body;
use dripfeed_auth::SUBMISSIONS;
use dripfeed_grpc::proto::ShouldForwardsRequestRequest;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
use envoy_types::pb::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::Entry;
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest;
use http::{Request, Response};
use prost::Message;
use serde_json::json;
use tonic::Code;
use tower::ServiceExt as _;

use crate::harness::{Harness, PATIENCE};

const LIMIT: u64 = 1000;

fn check(cost: Option<u64>) -> ShouldForwardsRequestRequest {
    ShouldForwardsRequestRequest { service: "shop".to_owned(), cost, ..Default::default() }
}

async fn call(harness: &Harness, path: &str, message: impl Message) -> Response<Body> {
    let message = message.encode_to_vec();
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    let body = [&[0], &length[..], &message].concat();
    let request = Request::post(path).header("host", "localhost").header("content-type", "application/grpc");
    harness.router.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap()
}

/// Parsed, a message can take many times as much memory as it counts.
#[tokio::test]
async fn a_message_with_too_many_parts_is_refused_before_it_waits_for_a_turn() {
    const PARTS: usize = 129;
    let harness = Harness::start().await;
    let tier = json!({ "kind": "fixed", "limit": LIMIT, "period": "1d" });
    harness.register(json!({ "policies": [{ "id": "all", "tiers": [tier] }] })).await;
    harness.redis.pause().unwrap();
    let mut waiting = Vec::new();
    for _ in 0..2 * SUBMISSIONS {
        let mut checking = Box::pin(call(&harness, "/proto.RateLimiter/ShouldForwardRequest", check(None)));
        for _ in 0..10 {
            assert!(futures::poll!(checking.as_mut()).is_pending(), "it isn't answered");
            tokio::task::yield_now().await;
        }
        waiting.push(checking);
    }
    let headers = (0..PARTS).map(|n| (n.to_string(), String::new())).collect();
    let checked = ShouldForwardsRequestRequest { headers, ..check(None) };
    let checked = call(&harness, "/proto.RateLimiter/ShouldForwardRequest", checked);
    let descriptor = RateLimitDescriptor { entries: vec![Entry::default(); PARTS], ..Default::default() };
    let asked = RateLimitRequest { domain: "shop".to_owned(), descriptors: vec![descriptor], hits_addend: 0 };
    let asked = call(&harness, "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit", asked);
    for refused in [tokio::time::timeout(PATIENCE / 2, checked).await, tokio::time::timeout(PATIENCE / 2, asked).await]
    {
        let refused = refused.expect("no wait for a turn");
        assert_eq!(Code::from_bytes(refused.headers()["grpc-status"].as_bytes()), Code::InvalidArgument);
    }
    harness.redis.resume().unwrap();
}

#[tokio::test]
async fn a_check_keeps_its_turn_and_is_counted_though_its_caller_leaves() {
    let turns = u64::from(SUBMISSIONS);
    let harness = Harness::start().await;
    let tier = json!({ "kind": "fixed", "limit": LIMIT, "period": "1d" });
    let rules = json!({ "policies": [{ "id": "all", "tiers": [tier] }] });
    harness.register(rules).await;
    let mut limiter = harness.limiter().await;
    let mut remaining = async || {
        let answer = limiter.should_forward_request(check(Some(0))).await.unwrap().into_inner();
        answer.policies[0].tiers[0].remaining
    };
    // Redis knows the script.
    assert_eq!(remaining().await, LIMIT);
    harness.redis.pause().unwrap();
    for _ in 0..2 * turns {
        let mut checking = Box::pin(call(&harness, "/proto.RateLimiter/ShouldForwardRequest", check(None)));
        // Until it is on its way to Redis, if it has a turn.
        for _ in 0..10 {
            assert!(futures::poll!(checking.as_mut()).is_pending(), "it isn't answered");
            tokio::task::yield_now().await;
        }
    }
    harness.redis.resume().unwrap();
    assert_eq!(remaining().await, LIMIT - turns, "each came to Redis in its turn");
    let counts = harness.services.tally().into_iter().flat_map(|(_, policies)| policies.into_values());
    assert_eq!(counts.map(|counts| counts.allowed).sum::<u64>(), turns + 2, "all are counted");
}
