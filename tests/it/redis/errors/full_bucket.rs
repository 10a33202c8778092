use dripfeed_tests::redis_fault_proxy::RedisFaultProxy;
use dripfeed_tests::service::Service;

use super::faults;

pub const SCRIPTS: [&str; 1] = ["refuse_full"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_bucket_refuses_whatever_redis_answers() {
    let service = Service::new("[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\ncapacity = 1").await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let url = format!("redis.url={}", proxy.url());
    let intake = service.role("intake", &[&url]).await;
    let client = intake.client();
    assert_eq!(client.submit("b", "x").await.expect("an answer").status, 202);
    for fault in faults() {
        // Only a batch after one that was refused is asked by its sizes.
        for _ in 0..2 {
            assert_eq!(client.submit("b", "x").await.expect("an answer").status, 429);
        }
        proxy.plan("refuse_full", fault, 1);
        let answer = client.submit("b", "x").await.expect("an answer");
        assert!(proxy.has_done("refuse_full"), "{fault:?}");
        assert_eq!((answer.status, answer.text("code")), (429, "bucket_full".to_owned()), "{fault:?}");
        assert!(answer.headers.contains_key("retry-after"), "{answer:?}");
    }
    assert_eq!(service.level("b").await, 1);
    assert!(!intake.log().contains("panicked"), "{}", intake.log());
}
