use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::service::{Service, until};

use super::reader::Reader;

const BUCKET: &str = "[buckets.b]\nupstream = \"http://127.0.0.1:1/\"\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_outlasts_an_outage_of_redis() {
    let service = Service::new(BUCKET).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let intake = service.role("intake", &[&format!("redis.url={}", proxy.url())]).await;
    let reader = Reader::of(&intake);
    assert!(reader.event("/live/buckets/b").await.contains("overview"));
    proxy.plan("census", ProxyFault::Error("LOADING Redis is loading the dataset in memory"), u64::MAX);
    until("a page that is open says so, and stays", async || {
        let event = reader.event("/live/buckets/b").await;
        assert!(event.starts_with("event: frame\n"), "{event}");
        event.contains("its state can't be read") && event.contains("✕ unavailable") && !event.contains("callers")
    })
    .await;
    let page = reader.get("/buckets/b").await;
    assert_eq!((page.status, page.headers["refresh"].to_str().ok()), (503, Some("5")), "{page:?}");
    proxy.behave("census");
    until("it can be read again", async || reader.get("/buckets/b").await.status == 200).await;
    assert_eq!(reader.get("/buckets/nope").await.headers.get("refresh"), None);
}
