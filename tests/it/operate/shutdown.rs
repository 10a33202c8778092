use dripfeed_tests::service::Service;
use dripfeed_tests::upstream::{Answer, Upstream};

async fn service(upstream: &Upstream) -> Service {
    Service::new(&format!("[buckets.b]\nupstream = \"{}\"\nleak = {{ concurrency = 5 }}", upstream.url())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_interrupted_by_the_drain_is_requeued_at_once() {
    let upstream = Upstream::start(|call| async move {
        if call.text() == "hangs" {
            std::future::pending::<()>().await;
        }
        Answer::Status(200)
    })
    .await;
    let service = service(&upstream).await;
    let intake = service.intake().await;
    let mut first = service.role("processor", &["processor.drain=100ms"]).await;
    assert_eq!(intake.client().submit("b", "hangs").await.unwrap().status, 202);
    upstream.has_got(1).await;
    first.terminate();
    assert_eq!(first.ended().await.code(), Some(0));
    let counts = service.counts("b").await;
    assert_eq!((counts.level, counts.in_flight, counts.parked), (1, 0, 1));
    let _second = service.processor().await;
    upstream.has_got(2).await;
    let attempts: Vec<u32> = upstream.calls().iter().map(|call| call.attempt).collect();
    assert_eq!(attempts, [1, 1]);
}
