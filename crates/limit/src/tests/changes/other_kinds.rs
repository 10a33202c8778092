use std::time::Duration;

use super::{EPOCH, remaining};
use crate::tests::bench::{Bench, NOON, SECOND, Step, call, plan, policies, policy, seconds, settings};
use crate::{Align, Consistency, Limiter, PolicySettings, Tier};

const MINUTE: Duration = Duration::from_mins(1);

fn bucket(limit: u64) -> Tier {
    Tier::bucket(limit, MINUTE, limit).unwrap()
}

fn fixed(limit: u64) -> Tier {
    Tier::fixed(limit, MINUTE, EPOCH).unwrap()
}

#[tokio::test]
async fn replicas_with_tiers_of_other_kinds_for_a_moment_lose_nothing() {
    let bench = Bench::new().await;
    let (old, new) = (policy(vec![fixed(100)]), policy(vec![bucket(50), Tier::sliding(60, MINUTE).unwrap()]));
    for _ in 0..5 {
        for policy in [&old, &new, &new, &old] {
            assert!(bench.passes(NOON, policy).await);
        }
    }
    assert_eq!(remaining(&bench, NOON, &new).await, [40, 50]);
    assert_eq!(remaining(&bench, NOON, &old).await, [90]);
}

#[tokio::test]
async fn a_refund_under_earlier_rules_leaves_the_count_of_another_kind_as_it_is() {
    let bench = Bench::new().await;
    let long = Tier::fixed(2, seconds(86_400), EPOCH).unwrap();
    let (old, new) = (policy(vec![Tier::gate(seconds(1)).unwrap()]), policy(vec![long]));
    assert!(bench.passes(NOON, &old).await);
    assert!(bench.passes(NOON, &new).await && bench.passes(NOON, &new).await);
    let refund = plan(&old, 1);
    bench.run(&[(NOON, Step::Refund(&refund)), (NOON + SECOND, Step::Refund(&refund))]).await;
    let kept_ms = bench.kept_ms(&refund).await;
    assert!(kept_ms > 86_400_000, "{kept_ms}");
    // Long after that.
    assert!(!bench.passes(NOON + 3_600 * SECOND, &new).await);
}

#[tokio::test]
async fn the_count_of_a_window_that_is_over_does_not_come_back() {
    let bench = Bench::new().await;
    let (old, new) = (policy(vec![bucket(10)]), policy(vec![fixed(3)]));
    for _ in 0..3 {
        assert!(bench.passes(NOON + 59 * SECOND, &new).await);
    }
    assert!(bench.passes(NOON + 59 * SECOND, &old).await && bench.passes(NOON + 61 * SECOND, &old).await);
    assert_eq!(remaining(&bench, NOON + 61 * SECOND, &new).await, [3]);
}

#[tokio::test]
async fn what_earlier_rules_counted_is_forgotten_after_a_while() {
    let bench = Bench::new().await;
    let day = Tier::fixed(100, seconds(86_400), EPOCH).unwrap();
    let (old, new) = (policy(vec![day]), policy(vec![bucket(50)]));
    assert!(bench.passes(NOON, &old).await);
    for second in [0, 80, 100] {
        assert!(bench.passes(NOON + second * SECOND, &new).await);
    }
    assert_eq!(remaining(&bench, NOON + 100 * SECOND, &old).await, [100]);
}

async fn allowed(limiter: &Limiter, count: usize) -> usize {
    let mut allowed = 0;
    for _ in 0..count {
        allowed += usize::from(limiter.decide(&call("acme")).await.unwrap().allowed);
    }
    allowed
}

/// A window that doesn't end in a test.
fn three() -> PolicySettings {
    settings("a", vec![Tier::fixed(3, seconds(25_000_000), Align::Epoch { spread: None }).unwrap()])
}

#[tokio::test]
async fn what_comes_back_or_is_reported_under_earlier_rules_gives_nobody_another_quota() {
    for consistency in [Consistency::Leased, Consistency::Async { sync: MINUTE }] {
        let bench = Bench::new().await;
        let earlier = settings("a", vec![Tier::bucket(1_000, seconds(3_600), 1_000).unwrap()]);
        let limiter = bench.patient_limiter(vec![PolicySettings { consistency, ..earlier }]).await;
        assert_eq!(allowed(&limiter, 1).await, 1);
        limiter.replace(policies(vec![three()])).unwrap();
        assert_eq!(allowed(&limiter, 5).await, 3);
        limiter.close().await.unwrap();
        let another = bench.patient_limiter(vec![three()]).await;
        assert_eq!(allowed(&another, 5).await, 0, "{consistency:?}");
    }
}
