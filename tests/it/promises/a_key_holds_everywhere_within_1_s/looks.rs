//! Every intake looks for changes at least once a second, and then applies them. Together this is the promise of one
//! second.

use dripfeed_tests::redis_fault_proxy::RedisFaultProxy;

use super::*;

/// The script with which an intake looks for changes.
const LOOK: &str = "changed_keys";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_intake_looks_every_second_and_a_change_holds_from_then_on() {
    let service = Service::new(&settings()).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let url = format!("redis.url={}", proxy.url());
    let (one, other) = (service.intake().await, service.role("intake", &[&url]).await);
    let platform = one.client().with_key("platform");
    assert!(proxy.is_called_every_second(LOOK).await, "an intake looks less than once a second");

    let key = made(&platform, "shop", &["submit"], &["mail"]).await;
    let other = other.client().with_key(&key);
    assert_eq!(submit(&other, "mail").await, 202);
    for (scope, status) in [("read", 403), ("submit", 202)] {
        let changed = put(&platform, "shop", &json!({ "scopes": [scope], "buckets": ["*"] })).await;
        assert_eq!(changed.status, 200, "{changed:?}");
        proxy.answered(LOOK).await;
        assert_eq!(submit(&other, "mail").await, status);
    }
    assert_eq!(delete(&platform, "shop").await.status, 204);
    proxy.answered(LOOK).await;
    assert_eq!(submit(&other, "mail").await, 401);
}
