//! Messages that don't come to their end.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use dripfeed_auth::Scope;
use dripfeed_grpc::proto::ShouldForwardsRequestRequest;
use futures::{StreamExt as _, stream};
use http::{HeaderValue, Request};
use serde_json::json;
use tokio::task::JoinSet;
use tonic::Code;
use tonic::transport::Channel;
use tower::{Service as _, ServiceExt as _};

use crate::harness::{Harness, PATIENCE, key, with_key};

const CHECK: &str = "/proto.RateLimiter/ShouldForwardRequest";
const ENVOY: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
const KEDA: &str = "/externalscaler.ExternalScaler/IsActive";
/// Of each message.
const SENT: usize = 60_000;

/// The status of a call whose message never ends; None: it isn't answered meanwhile.
async fn begin(channel: &Channel, path: &str, key: Option<&str>, within: Duration) -> Option<Code> {
    let head: &[u8] = &[0, 0, 0, 255, 0];
    let message =
        stream::iter([Bytes::from_static(head), Bytes::from(vec![b'x'; SENT])]).map(Ok::<_, std::convert::Infallible>);
    let mut request = Request::post(path).header("content-type", "application/grpc").header("te", "trailers");
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    let request = request.body(tonic::body::Body::new(Body::from_stream(message.chain(stream::pending())))).unwrap();
    let mut channel = channel.clone();
    let answer = tokio::time::timeout(within, channel.ready().await.unwrap().call(request)).await.ok()?.unwrap();
    let status = answer.headers().get("grpc-status").expect("a status").to_str().unwrap();
    Some(Code::from_bytes(status.as_bytes()))
}

#[tokio::test]
async fn a_call_without_a_key_is_refused_before_its_message() {
    let harness = Harness::with(vec![key("asker", &[Scope::Submit])], None).await;
    let channel = harness.channel().await;
    for path in [CHECK, ENVOY] {
        for wrong in [None, Some("wrong")] {
            assert_eq!(begin(&channel, path, wrong, PATIENCE / 2).await, Some(Code::Unauthenticated), "{path}");
        }
    }
}

/// As many as would take 48 MiB of memory.
const MANY: usize = 800;

/// Calls of one caller, of which some are refused for lack of memory; they end when this is dropped.
async fn flood(harness: &Harness, path: &'static str, key: Option<&'static str>) -> JoinSet<Option<Code>> {
    let mut calls = JoinSet::new();
    for _ in 0..MANY.div_ceil(128) {
        let channel = harness.channel().await;
        for _ in 0..128 {
            let channel = channel.clone();
            calls.spawn(async move { begin(&channel, path, key, PATIENCE).await });
        }
    }
    assert_eq!(calls.join_next().await.unwrap().unwrap(), Some(Code::Unavailable), "the memory has a bound");
    calls
}

async fn check(harness: &Harness, key: &str) {
    let asked = ShouldForwardsRequestRequest { service: "shop".to_owned(), ..ShouldForwardsRequestRequest::default() };
    harness.limiter().await.should_forward_request(with_key(key, asked)).await.unwrap();
}

#[tokio::test]
async fn messages_of_one_caller_leave_memory_to_others() {
    let harness = Harness::with(vec![key("one", &[Scope::Submit]), key("other", &[Scope::Submit])], None).await;
    harness.register(json!({ "policies": [] })).await;
    let calls = flood(&harness, CHECK, Some("one")).await;
    check(&harness, "other").await;
    drop(calls);
    check(&harness, "one").await;
}

/// KEDA sends its key in the message.
#[tokio::test]
async fn messages_without_a_key_leave_memory_to_those_with_one() {
    let harness = Harness::with(vec![key("one", &[Scope::Submit])], None).await;
    harness.register(json!({ "policies": [] })).await;
    let _calls = flood(&harness, KEDA, None).await;
    check(&harness, "one").await;
}

/// Calls of one caller with large heads, whose messages don't come. Not over a connection: that takes as long as the
/// heads.
async fn flood_with_heads(harness: &Harness, path: &str, key: Option<&str>) -> JoinSet<String> {
    let large = HeaderValue::try_from("x".repeat(SENT)).unwrap();
    let mut calls = JoinSet::new();
    for _ in 0..MANY {
        let mut request = Request::post(path).header("content-type", "application/grpc").header("x-large", &large);
        if let Some(key) = key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let never = stream::pending::<Result<Bytes, std::convert::Infallible>>();
        let call = harness.router.clone().oneshot(request.body(Body::from_stream(never)).unwrap());
        calls.spawn(async { call.await.unwrap().headers()["grpc-status"].to_str().unwrap().to_owned() });
    }
    let first = tokio::time::timeout(PATIENCE / 2, calls.join_next()).await.expect("the memory has a bound");
    assert_eq!(Code::from_bytes(first.unwrap().unwrap().as_bytes()), Code::Unavailable);
    calls
}

#[tokio::test]
async fn heads_count_as_messages_do() {
    let harness = Harness::with(vec![key("one", &[Scope::Submit]), key("other", &[Scope::Submit])], None).await;
    harness.register(json!({ "policies": [] })).await;
    let _without_key = flood_with_heads(&harness, KEDA, None).await;
    let calls = flood_with_heads(&harness, CHECK, Some("one")).await;
    check(&harness, "other").await;
    drop(calls);
    check(&harness, "one").await;
}
