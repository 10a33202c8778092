use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dripfeed_intake::EntryPoint;
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

use crate::harness::{Harness, ask, request};

/// It takes 4 MiB, which an intake saves that is asked for submissions and by monitors alone.
#[tokio::test]
async fn the_router_of_the_whole_api_is_made_for_the_first_request_that_needs_it() {
    let harness = Harness::start().await;
    let made = Arc::new(AtomicBool::new(false));
    let (intake, is_made) = (harness.intake.clone(), Arc::clone(&made));
    let front = EntryPoint::new(harness.intake.clone(), move || {
        is_made.store(true, Ordering::Relaxed);
        intake.router()
    });
    for line in ["GET /livez", "GET /readyz", "GET /metrics", "HEAD /readyz", "POST /livez"] {
        ask(front.clone(), request(line, &[], "")).await;
        assert!(!made.load(Ordering::Relaxed), "{line}");
    }
    assert_eq!(ask(front.clone(), request("POST /v1/buckets/b/jobs", &[], "x")).await.status, 202);
    assert!(!made.load(Ordering::Relaxed));
    assert_eq!(ask(front, request("GET /v1/buckets", &[], "")).await.status, 200);
    assert!(made.load(Ordering::Relaxed));
}

#[tokio::test]
async fn monitors_are_answered_as_by_the_router_of_the_whole_api() {
    let harness = Harness::start().await;
    for draining in [false, true] {
        if draining {
            harness.health.drain();
        }
        for line in ["GET /livez", "GET /readyz", "GET /metrics", "HEAD /readyz", "PUT /livez", "POST /metrics?x"] {
            for host in ["127.0.0.1", "evil.example"] {
                let by_front = ask(harness.intake.entry_point(), request(line, &[("host", host)], "")).await;
                let by_router = harness.intake.router().oneshot(request(line, &[("host", host)], "")).await.unwrap();
                let case = format!("{line} {host}: {by_front:?}");
                assert_eq!(by_front.status, by_router.status(), "{case}");
                assert_eq!(&by_front.headers, by_router.headers(), "{case}");
                let body = by_router.into_body().collect().await.unwrap().to_bytes();
                // Figures may have changed.
                assert!(line.contains("/metrics") || by_front.body == body, "{case}");
            }
        }
    }
}
