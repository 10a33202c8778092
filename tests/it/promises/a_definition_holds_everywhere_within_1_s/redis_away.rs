use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_redis_cannot_say_what_is_defined_what_is_known_goes_on() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&settings(&upstream)).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let intake = service.role("intake", &[&format!("redis.url={}", proxy.url())]).await;
    let client = intake.client();
    put(&client, "b", &calling(&upstream)).await;
    proxy.plan("changed_definitions", ProxyFault::Error("LOADING Redis is loading the dataset in memory"), u64::MAX);
    let asked = proxy.calls("changed_definitions");
    until("it is asked in vain", async || proxy.calls("changed_definitions") > asked).await;
    assert_eq!(submit(&client, "b").await.status, 202);
    let unknown = submit(&client, "c").await;
    assert_eq!((unknown.status, unknown.text("code").as_str()), (503, "store_unavailable"), "nobody knows of it");
    proxy.behave("changed_definitions");
    until("it is known to be unknown", async || submit(&client, "c").await.status == 404).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_redis_has_lost_is_gone_and_can_be_defined_again() {
    let upstream = Upstream::willing().await;
    let roles = Roles::start(&upstream).await;
    let (one, other) = (roles.one.client(), roles.other.client());
    put(&one, "b", &calling(&upstream)).await;
    put(&one, "c", &calling(&upstream)).await;
    assert_eq!(submit(&other, "b").await.status, 202);
    roles.service.redis::<String>("FLUSHALL").await;
    // No intake accepts a job for a bucket that no processor would serve.
    for client in [&one, &other] {
        let lost = submit(client, "b").await;
        assert_eq!(lost.status, 404, "{lost:?}");
    }
    assert_eq!(put(&one, "b", &calling(&upstream)).await.status, 201);
    assert_eq!(submit(&other, "b").await.status, 202);
    assert_eq!(submit(&other, "c").await.status, 404);
    until("it is called", async || roles.service.level("b").await == 0).await;
}
