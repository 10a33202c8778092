use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use serde_json::Value as Json;
use tokio::sync::Semaphore;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::{Identity, KeyPart, LimitLayer, Limiter, OnStoreError, PolicySettings, Tier};

use super::bench::{Bench, policies, seconds, settings};

fn layer(limiter: Limiter) -> LimitLayer {
    LimitLayer::new(limiter).unwrap().with_older_fields().identify(|head| Identity {
        caller: head.headers.get("x-api-key").and_then(|key| key.to_str().ok()).map(str::to_owned),
        ..Identity::default()
    })
}

type Answer = Result<Response<String>, Infallible>;

async fn echo(request: Request<String>) -> Answer {
    Ok(Response::new(request.into_body()))
}

fn request(key: &str) -> Request<String> {
    Request::builder().uri("/a").header("x-api-key", key).body("hello".to_owned()).unwrap()
}

fn header<'r>(response: &'r Response<String>, name: &str) -> &'r str {
    response.headers().get(name).unwrap_or_else(|| panic!("no {name}")).to_str().unwrap()
}

#[tokio::test]
async fn a_refused_request_never_reaches_the_service_and_is_told_when_to_come_again() {
    let bench = Bench::new().await;
    let tier = Tier::gate(Duration::from_millis(4_200)).unwrap();
    let settings = PolicySettings { message: Some("one at a time".to_owned()), ..settings("gate", vec![tier]) };
    let mut service = layer(bench.patient_limiter(vec![settings]).await).layer(service_fn(echo));

    let passed = service.ready().await.unwrap().call(request("a")).await.unwrap();
    assert_eq!((passed.status(), passed.body().as_str()), (StatusCode::OK, "hello"));
    assert_eq!(header(&passed, "ratelimit"), "\"gate\";r=0;t=5");
    assert_eq!(header(&passed, "x-ratelimit-remaining"), "0");

    let refused = service.ready().await.unwrap().call(request("a")).await.unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(header(&refused, "content-type"), "application/problem+json");
    for (field, shown) in [("limit", "1"), ("remaining", "0"), ("reset", header(&refused, "retry-after"))] {
        assert_eq!(header(&refused, &format!("x-ratelimit-{field}")), shown);
    }
    let problem: Json = serde_json::from_str(refused.body()).unwrap();
    assert_eq!(problem["detail"], "one at a time");
    assert_eq!(problem["violated_policies"][0], "gate");

    let other = service.ready().await.unwrap().call(request("b")).await.unwrap();
    assert_eq!(other.status(), StatusCode::OK);

    let seconds: u64 = header(&refused, "retry-after").parse().unwrap();
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let again = service.ready().await.unwrap().call(request("a")).await.unwrap();
    assert_eq!(again.status(), StatusCode::OK, "a caller that waits as long as asked gets in");
}

#[tokio::test]
async fn leases_are_out_until_the_service_has_answered_or_the_caller_left() {
    let bench = Bench::new().await;
    let limiter = bench.patient_limiter(vec![settings("two", vec![Tier::concurrent(1, seconds(60)).unwrap()])]).await;
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let service = layer(limiter).layer(service_fn(move |request| {
        let gate = held.clone();
        async move {
            gate.acquire().await.unwrap().forget();
            echo(request).await
        }
    }));
    let call = || tokio::spawn(service.clone().oneshot(request("a")));

    let first = call();
    let refused = loop {
        // The first has its lease as soon as another one is refused.
        match tokio::time::timeout(Duration::from_millis(100), call()).await {
            Ok(refused) => break refused.unwrap().unwrap(),
            Err(_) => continue,
        }
    };
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    gate.add_permits(2);
    assert_eq!(first.await.unwrap().unwrap().status(), StatusCode::OK);
    wait_for_ok(&call).await;

    gate.forget_permits(usize::MAX);
    let left = call();
    tokio::time::sleep(Duration::from_millis(50)).await;
    left.abort();
    gate.add_permits(1_000);
    wait_for_ok(&call).await;
}

/// A lease that was just returned arrives shortly.
async fn wait_for_ok(call: &impl Fn() -> tokio::task::JoinHandle<Answer>) {
    let passes = async { while call().await.unwrap().unwrap().status() != StatusCode::OK {} };
    tokio::time::timeout(seconds(60), passes).await.unwrap();
}

#[tokio::test]
async fn a_path_that_another_rule_would_be_for_once_resolved_is_refused() {
    let bench = Bench::new().await;
    let service = layer(bench.patient_limiter(vec![settings("each", vec![Tier::gate(seconds(1)).unwrap()])]).await);
    for path in ["/a/../b", "/a/%2e%2E/b", "/./b", "/a/.."] {
        let request = Request::builder().uri(path).body("hello".to_owned()).unwrap();
        let answer = service.layer(service_fn(echo)).oneshot(request).await.unwrap();
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{path}");
        let problem: Json = serde_json::from_str(answer.body()).unwrap();
        assert!(problem["detail"].as_str().unwrap().contains("segments `.` and `..`"), "{problem}");
    }
    let request = Request::builder().uri("/a/..b/...").body("hello".to_owned()).unwrap();
    assert_eq!(service.layer(service_fn(echo)).oneshot(request).await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn without_redis_a_closed_limit_answers_503() {
    let mut bench = Bench::new().await;
    let closed = PolicySettings {
        on_store_error: OnStoreError::Closed,
        ..settings("closed", vec![Tier::gate(seconds(1)).unwrap()])
    };
    let service = layer(bench.limiter(vec![closed]).await).layer(service_fn(echo));
    bench.server.kill().await.unwrap();
    let answer = service.oneshot(request("a")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(header(&answer, "retry-after"), "1");
}

#[tokio::test]
async fn a_policy_that_asks_for_the_body_is_refused_where_bodies_are_left_alone() {
    let bench = Bench::new().await;
    let key = vec![KeyPart::Field("/shop".to_owned())];
    let by_field = PolicySettings { key, ..settings("by-field", vec![Tier::gate(seconds(1)).unwrap()]) };
    let limiter = bench.limiter(vec![by_field.clone()]).await;
    assert!(LimitLayer::new(limiter.clone()).is_err());
    limiter.replace(policies(vec![by_field.clone()])).unwrap();
    let limiter = bench.limiter(vec![]).await;
    let _layer = LimitLayer::new(limiter.clone()).unwrap();
    assert!(limiter.replace(policies(vec![by_field])).is_err());
}
