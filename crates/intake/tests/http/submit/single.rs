use axum::body::Body;
use futures::future::join_all;
use futures::stream;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::harness::{Harness, PATIENCE, delivered, request, settings};

const JOBS: &str = "POST /v1/buckets/b/jobs";

#[tokio::test]
async fn a_receipt_describes_the_admitted_job() {
    let harness = Harness::start().await;
    let answer = harness.ask(JOBS, &[("content-type", "text/plain")], "hello").await;
    assert_eq!(answer.status, 202);
    let receipt = answer.json();
    let id = receipt["id"].as_str().unwrap();
    assert_eq!(answer.header("location"), Some(format!("/v1/buckets/b/jobs/{id}").as_str()));
    assert_eq!(answer.header("ratelimit-policy"), Some("\"bucket\";q=10;qu=\"concurrent-requests\""));
    assert_eq!(answer.header("ratelimit"), Some("\"bucket\";r=9"));
    assert!(receipt["eta_ms"].is_u64());
    let expected = json!({"id": id, "bucket": "b", "level": 1, "capacity": 10, "durability": "everysec",
        "eta_ms": receipt["eta_ms"]});
    assert_eq!(receipt, expected);
}

#[tokio::test]
async fn body_and_content_headers_are_forwarded_unchanged() {
    let harness = Harness::start().await;
    let body: Vec<u8> = (0..=255).collect();
    let headers = [
        ("content-type", "application/x-thing"),
        ("content-encoding", "br"),
        ("dripfeed-method", "PUT"),
        ("dripfeed-path", "/x?y=%20z"),
        ("dripfeed-forward-x-tenant", "t"),
        ("dripfeed-retries", "2"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("x-not-forwarded", "1"),
    ];
    harness.ask(JOBS, &headers, body.clone()).await;
    let job = harness.settle(delivered(200, "text/plain", b"")).await;
    assert_eq!(job.body, body);
    assert_eq!(job.content_type.as_deref(), Some("application/x-thing"));
    assert_eq!(job.headers.to_field(), r#"[["x-tenant","t"],["content-encoding","br"]]"#);
    assert_eq!(job.method, Some(Method::PUT));
    assert_eq!(job.path.unwrap().as_str(), "/x?y=%20z");
    assert_eq!(job.retries, Some(2));
    assert!(job.traceparent.is_some());
    assert_eq!(job.caller, None);
}

#[tokio::test]
async fn one_job_per_idempotency_key() {
    let harness = Harness::start().await;
    let key = [("idempotency-key", "order-1")];
    let answers = join_all((0..100).map(|_| harness.ask(JOBS, &key, "same"))).await;
    let ids: Vec<_> = answers.iter().map(|answer| answer.json()["id"].clone()).collect();
    assert!(answers.iter().all(|answer| answer.status == 202));
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let replayed = answers.iter().filter(|answer| answer.header("idempotent-replayed") == Some("true")).count();
    assert_eq!(replayed, 99);
    assert_eq!(harness.length("b").await, 1);

    harness.ask(JOBS, &key, "other").await.refuses(409, "idempotency_conflict");
    for bad in ["", &"x".repeat(256), "a\tb"] {
        harness.ask(JOBS, &[("idempotency-key", bad)], "x").await.refuses(400, "bad_idempotency_key");
    }
    assert_eq!(harness.length("b").await, 1);
}

#[tokio::test]
async fn a_full_bucket_sends_retry_after() {
    let harness = Harness::start().await;
    for n in 0..10 {
        harness.submit(&n.to_string()).await;
    }
    let answer = harness.ask(JOBS, &[], "one too many").await;
    let problem = answer.refuses(429, "bucket_full");
    assert_eq!((&problem["level"], &problem["capacity"]), (&10.into(), &10.into()));
    let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!(seconds >= 1);
    assert!(problem["retry_after_ms"].as_u64().unwrap() <= seconds * 1000);
    assert_eq!(answer.header("ratelimit").unwrap(), format!("\"bucket\";r=0;t={seconds}"));
    assert_eq!(harness.length("b").await, 10);

    harness.settle(delivered(200, "text/plain", b"")).await;
    harness.submit("there is room").await;
}

#[tokio::test]
async fn a_job_that_would_expire_before_delivery_is_refused() {
    let harness = Harness::start().await;
    let headers = [("dripfeed-delay", "10s"), ("dripfeed-expires-in", "5s")];
    let answer = harness.ask(JOBS, &headers, "late").await;
    assert_eq!(answer.header("retry-after"), None, "no wait helps");
    let problem = answer.refuses(429, "deadline_unreachable");
    assert_eq!((&problem["retryable"], &problem["retry_after_ms"]), (&false.into(), &Value::Null));

    // The time comes nearer.
    let time = (Timestamp::now() + SignedDuration::from_secs(10)).to_string();
    let headers = [("dripfeed-not-before", time.as_str()), ("dripfeed-expires-in", "5s")];
    let answer = harness.ask(JOBS, &headers, "early").await;
    assert_eq!(answer.header("retry-after"), Some("5"));
    answer.refuses(429, "deadline_unreachable");
    assert_eq!(harness.length("b").await, 0);
}

#[tokio::test]
async fn a_job_larger_than_the_bucket_is_refused() {
    let mut small = settings("b");
    small.capacity_bytes = 1000;
    let harness = Harness::with(vec![small], Vec::new(), &[]).await;
    harness.ask(JOBS, &[], "x".repeat(2000)).await.refuses(413, "body_too_large");
    assert_eq!(harness.length("b").await, 0);
}

#[tokio::test]
async fn an_oversized_body_is_refused_in_every_form() {
    let harness = Harness::start().await;
    let most = 64 * 1024;
    let fits = harness.ask(JOBS, &[], vec![0; most]).await;
    assert_eq!(fits.status, 202);
    harness.ask(JOBS, &[], vec![0; most + 1]).await.refuses(413, "body_too_large");
    let endless = stream::repeat_with(|| Ok::<_, std::io::Error>(vec![0; 1000]));
    let answer = harness.ask(JOBS, &[], Body::from_stream(endless)).await;
    answer.refuses(413, "body_too_large");
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(harness.length("b").await, 1);
}

#[tokio::test]
async fn a_paused_bucket_admits() {
    let harness = Harness::start().await;
    harness.post("/v1/buckets/b/pause").await;
    harness.submit("x").await;
}

#[tokio::test]
async fn an_unknown_route_is_not_found() {
    let harness = Harness::start().await;
    harness.post("/v1/buckets/b/c/jobs").await.refuses(404, "not_found");
    harness.post("/v2/buckets").await.refuses(404, "not_found");
    let answer = harness.ask("PUT /v1/buckets/b/jobs", &[], "x").await;
    answer.refuses(405, "method_not_allowed");
    assert_eq!(answer.header("allow"), Some("POST,GET,HEAD"));
    harness.get("/v1/buckets/b/pause").await.refuses(405, "method_not_allowed");
}

#[tokio::test]
async fn a_job_is_counted_though_its_caller_leaves_before_the_answer() {
    let harness = Harness::start().await;
    let leave = async |line: &str, body: String| {
        let mut answering = Box::pin(harness.intake.entry_point().oneshot(request(line, &[], body)));
        assert!(futures::poll!(answering.as_mut()).is_pending(), "Redis was asked");
        drop(answering);
    };
    let counted = async |line: &str| {
        let counted = async {
            let is_counted = |text: &str| text.lines().any(|counted| counted == line);
            while !is_counted(str::from_utf8(&harness.get("/metrics").await.body).unwrap()) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, counted).await.unwrap_or_else(|_| panic!("{line} isn't there"));
    };
    let ways = [(JOBS, 1), ("PUT /v1/buckets/b/proxy/x", 1), (JOBS, 40_000)];
    for (jobs, (line, bytes)) in (1..).zip(ways) {
        leave(line, "x".repeat(bytes)).await;
        counted(&format!("dripfeed_jobs_accepted_total{{bucket=\"b\"}} {jobs}")).await;
    }
    // There is room for ten.
    for _ in 3..10 {
        harness.submit("x").await;
    }
    leave(JOBS, "x".to_owned()).await;
    counted("dripfeed_jobs_refused_total{bucket=\"b\",reason=\"bucket_full\"} 1").await;
}
