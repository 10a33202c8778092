//! Callers that leave before they are answered.

use axum::body::Body;
use dripfeed_auth::SUBMISSIONS;
use dripfeed_grpc::proto::ShouldForwardsRequestRequest;
use http::Request;
use prost::Message as _;
use serde_json::json;
use tower::ServiceExt as _;

use crate::harness::Harness;

const LIMIT: u64 = 1000;

fn check(cost: Option<u64>) -> ShouldForwardsRequestRequest {
    ShouldForwardsRequestRequest { service: "shop".to_owned(), cost, ..Default::default() }
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
        let message = check(None).encode_to_vec();
        let length = u32::try_from(message.len()).unwrap().to_be_bytes();
        let body = [&[0], &length[..], &message].concat();
        let request = Request::post("/proto.RateLimiter/ShouldForwardRequest")
            .header("host", "localhost")
            .header("content-type", "application/grpc");
        let mut checking = Box::pin(harness.router.clone().oneshot(request.body(Body::from(body)).unwrap()));
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
