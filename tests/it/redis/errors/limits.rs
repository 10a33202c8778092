use std::time::{Duration, Instant};

use dripfeed_limit::{LimitError, Limiter, Policies, Request, load};
use dripfeed_store::{Durability, RedisSettings, Store};
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::redis_server::TestRedis;
use serde_json::json;

use super::faults;

pub const SCRIPTS: [&str; 3] = ["count", "decide", "refund"];

/// Longer than a machine is ever busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// Far more than any test asks for.
const LIMIT: u64 = 1_000_000;

fn policy(consistency: &str, on_store_error: &str) -> Policies {
    let policies = json!({ "policies": [{
        "id": "all", "consistency": consistency, "on_store_error": on_store_error,
        "tiers": [{ "kind": "fixed", "limit": LIMIT, "period": "1d" }],
    }]});
    load::document(policies).unwrap_or_else(|error| panic!("{error}"))
}

/// One whose decisions wait for a Redis on a machine that stands still for a while.
async fn limiter(proxy: &RedisFaultProxy, tag: &str, policies: Policies) -> Limiter {
    let settings = RedisSettings::new(proxy.url().parse().expect("an address"), "dripfeed", Durability::Process);
    let settings = RedisSettings { response_timeout: PATIENCE, ..settings };
    let store = Store::connect(&settings).await.expect("Redis answers");
    Limiter::with_timeout(store, tag, policies, PATIENCE).expect("a policy")
}

/// Asks until it is answered well: while a connection is made again a decision fails. Reports what remains, and how
/// many decisions failed, which may have been charged all the same.
async fn remaining(limiter: &Limiter) -> (u64, u64) {
    let begun = Instant::now();
    for failed in 0.. {
        if let Ok(decision) = limiter.decide(&Request::default()).await {
            return (decision.policies[0].tiers[0].remaining, failed);
        }
        assert!(begun.elapsed() < PATIENCE, "no decision");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    unreachable!("it goes on until there is a decision")
}

#[tokio::test]
async fn a_decision_is_told_and_refused_when_it_cannot_be_made() {
    let redis = TestRedis::start().await;
    let proxy = RedisFaultProxy::before(&redis).await;
    let closed = limiter(&proxy, "closed", policy("strict", "closed")).await;
    let open = limiter(&proxy, "open", policy("strict", "open")).await;
    remaining(&closed).await;
    remaining(&open).await;
    for fault in faults() {
        proxy.plan("decide", fault, 1);
        let decided = closed.decide(&Request::default()).await;
        if matches!(fault, ProxyFault::Error(error) if error.starts_with("NOSCRIPT")) {
            assert!(decided.is_ok_and(|decision| decision.allowed), "the source is sent");
        } else {
            assert!(matches!(decided, Err(LimitError::Unavailable { .. })), "{fault:?}: {decided:?}");
        }
        proxy.plan("decide", fault, 1);
        assert!(open.decide(&Request::default()).await.expect("a decision").allowed, "{fault:?}");
        remaining(&closed).await;
        remaining(&open).await;
    }
}

#[tokio::test]
async fn a_failed_refund_is_reported_and_the_call_stays_charged_at_most_once() {
    let redis = TestRedis::start().await;
    let proxy = RedisFaultProxy::before(&redis).await;
    let limiter = limiter(&proxy, "shop", policy("strict", "closed")).await;
    for fault in faults() {
        let decision = loop {
            if let Ok(decision) = limiter.decide(&Request::default()).await {
                break decision;
            }
        };
        let charged = decision.policies[0].tiers[0].remaining;
        proxy.plan("refund", fault, 1);
        let told = limiter.refund(decision).await;
        // The next decision is charged as well: with the refund it comes out where it was, without one below.
        let (now, uncertain) = remaining(&limiter).await;
        let is_retried = matches!(fault, ProxyFault::Error(error) if error.starts_with("NOSCRIPT"));
        let given_back = is_retried || fault.is_carried_out();
        let expected = if given_back { charged } else { charged - 1 };
        assert_eq!(told.is_ok(), is_retried, "{fault:?}: {told:?}");
        assert!((expected - uncertain..=expected).contains(&now), "{fault:?}: {now}, expected {expected}");
    }
}

#[tokio::test]
async fn local_counts_reach_redis_after_an_error() {
    let redis = TestRedis::start().await;
    let proxy = RedisFaultProxy::before(&redis).await;
    let here = limiter(&proxy, "shop", policy("async", "closed")).await;
    let mut passed = 0;
    for fault in faults() {
        proxy.plan("count", fault, 1);
        assert!(here.decide(&Request::default()).await.expect("a decision").allowed);
        passed += 1;
        proxy.done("count").await;
    }
    // What another replica learns of it: no call is missing, and those that were reported with a lost answer count
    // twice at most. On a busy machine one report has several of them.
    let there = limiter(&proxy, "shop", policy("strict", "closed")).await;
    let mut uncertain = passed * faults().filter(|fault| fault.is_carried_out()).count() as u64;
    let begun = Instant::now();
    loop {
        let (left, failed) = remaining(&there).await;
        // Of those that this test looked in vain with, any may be charged.
        uncertain += failed;
        let used = LIMIT - left - 1;
        assert!(used <= passed + uncertain, "{used} of {passed} and {uncertain}");
        if used >= passed {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{used} of {passed}");
        passed += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
