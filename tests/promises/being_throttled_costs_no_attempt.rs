//! Promise 8: Pacing, an upstream's 429 or 503 with Retry-After, our own shutdown: the attempt number stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use dripfeed_tests::service::Service;
use dripfeed_tests::upstream::{Answer, Call, Upstream};

/// Throttles the first three calls, and is willing then.
async fn busy(status: u16) -> Upstream {
    let calls = Arc::new(AtomicU32::new(0));
    Upstream::start(move |_: Call| {
        let call = calls.fetch_add(1, Ordering::SeqCst);
        async move { if call < 3 { Answer::Throttle(status, 1) } else { Answer::Status(200) } }
    })
    .await
}

async fn throttled(status: u16) {
    let upstream = busy(status).await;
    let settings = format!(
        "[buckets.b]\nupstream = \"{}\"\n[buckets.b.leak]\nconcurrency = 1\n[buckets.b.retry]\nattempts = 1",
        upstream.url()
    );
    let service = Service::new(&settings).await;
    let intake = service.intake().await;
    let _processor = service.processor().await;
    let job = intake.client().submit("b", "x").await.expect("an answer").text("id");
    service.drained("b").await;

    let calls = upstream.calls();
    assert_eq!(calls.iter().map(|call| call.attempt).collect::<Vec<_>>(), [1, 1, 1, 1]);
    for pair in calls.windows(2) {
        let waited = pair[1].arrived.duration_since(pair[0].arrived);
        assert!(waited >= Duration::from_millis(999), "asked for 1 s, called again after {waited:?}");
    }
    let ended = intake.client().get(&format!("/v1/buckets/b/jobs/{job}")).await.expect("an answer").json();
    assert_eq!((ended["state"].as_str(), ended["attempts"].as_u64()), (Some("delivered"), Some(1)), "{ended}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstreams_429() {
    throttled(429).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstreams_503_with_retry_after() {
    throttled(503).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_own_shutdown() {
    // Never answers the replica that is to be shut down.
    let upstream = Upstream::start(|call| async move {
        if call.headers.get("user-agent").is_some_and(|agent| agent == "leaver") {
            std::future::pending::<()>().await;
        }
        Answer::Status(200)
    })
    .await;
    let settings = format!("[buckets.b]\nupstream = \"{}\"\n[buckets.b.retry]\nattempts = 1", upstream.url());
    let service = Service::new(&settings).await;
    let intake = service.intake().await;
    let leaver = ["buckets.b.headers={ User-Agent = \"leaver\" }", "processor.drain=500ms"];
    let mut leaver = service.role("processor", &leaver).await;
    let job = intake.client().submit("b", "x").await.expect("an answer").text("id");
    upstream.has_got(1).await;
    leaver.terminate();
    assert!(leaver.ended().await.success());
    let parked = intake.client().get(&format!("/v1/buckets/b/jobs/{job}")).await.expect("an answer").json();
    assert_eq!((parked["state"].as_str(), parked["attempts"].as_u64()), (Some("parked"), Some(0)), "{parked}");

    let _next = service.processor().await;
    service.drained("b").await;
    assert_eq!(upstream.calls().iter().map(|call| call.attempt).collect::<Vec<_>>(), [1, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pace() {
    let upstream = Upstream::willing().await;
    let settings = format!(
        "[buckets.b]\nupstream = \"{}\"\n[buckets.b.leak]\nrate = \"20/s\"\n[buckets.b.retry]\nattempts = 1",
        upstream.url()
    );
    let service = Service::new(&settings).await;
    let intake = service.intake().await;
    let _processor = service.processor().await;
    for n in 0..20 {
        assert_eq!(intake.client().submit("b", n.to_string()).await.expect("an answer").status, 202);
    }
    service.drained("b").await;
    let calls = upstream.calls();
    assert!(calls.len() == 20 && calls.iter().all(|call| call.attempt == 1));
}
