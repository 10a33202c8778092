use crate::policy::tier::Tier;
use crate::{LimitError, Limiter, OnStoreError, PolicySettings, Request};

use crate::tests::bench::{Bench, call, seconds, settings};

async fn decide(limiter: &Limiter, cost: u64) -> Result<bool, LimitError> {
    limiter.decide(&Request { cost: Some(cost), ..call("acme") }).await.map(|decision| decision.allowed)
}

/// It is no more than the limit, so it may pass when Redis is back: "never", with the whole limit as the reason, would
/// be wrong.
#[tokio::test]
async fn a_request_that_costs_more_than_the_part_of_a_replica_cannot_be_checked() {
    let tiers: [fn() -> Tier; 3] = [
        || Tier::bucket(10, seconds(86_400), 10).unwrap(),
        || Tier::sliding(10, seconds(86_400)).unwrap(),
        || Tier::log(10, seconds(86_400), seconds(0), false).unwrap(),
    ];
    for tier in tiers {
        let bench = Bench::new().await;
        let local = PolicySettings { on_store_error: OnStoreError::Local, ..settings("a", vec![tier()]) };
        let limiter = bench.limiter(vec![local]).await;
        limiter.set_replicas(3);
        bench.server.pause().unwrap();
        assert!(decide(&limiter, 3).await.unwrap(), "{}", tier());
        assert!(matches!(decide(&limiter, 5).await, Err(LimitError::Unavailable { .. })), "{}", tier());
        assert!(!decide(&limiter, 11).await.unwrap(), "no wait helps: {}", tier());
        bench.server.resume().unwrap();
    }
}
