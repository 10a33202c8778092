use std::sync::Arc;
use std::time::Duration;

use crate::{Align, Calendar, Plan, Policy, Tier, Unit, Wait};

use super::bench::{Bench, NOON, SECOND, Step, plan, policy, seconds};

/// Leases of another length.
mod leases;
/// Tiers of another kind.
mod other_kinds;

const EPOCH: Align = Align::Epoch { spread: None };

async fn remaining(bench: &Bench, now: u64, policy: &Arc<Policy>) -> Vec<u64> {
    bench.decide(now, &plan(policy, 0)).await.policies[0].tiers.iter().map(|tier| tier.remaining).collect()
}

/// Spends seven under `before`, and shows what is left under `after`.
async fn left_after_seven(before: Tier, after: Tier) -> u64 {
    let bench = Bench::new().await;
    assert!(bench.decide(NOON, &plan(&policy(vec![before]), 7)).await.allowed);
    remaining(&bench, NOON, &policy(vec![after])).await[0]
}

#[tokio::test]
async fn a_changed_limit_keeps_what_was_consumed() {
    let bucket = |limit, period, burst| Tier::bucket(limit, period, burst).unwrap();
    let second = seconds(1);
    assert_eq!(left_after_seven(bucket(10, second, 10), bucket(10, second, 20)).await, 13);
    assert_eq!(left_after_seven(bucket(10, second, 10), bucket(100, second, 10)).await, 3);
    assert_eq!(left_after_seven(bucket(10, second, 10), bucket(10, seconds(60), 10)).await, 3);
    assert_eq!(left_after_seven(bucket(10, second, 10), bucket(7, Duration::from_micros(1_234_567), 12)).await, 5);
    assert_eq!(left_after_seven(bucket(10, second, 10), bucket(10, second, 5)).await, 0);

    for align in [EPOCH, Align::First] {
        let fixed = |limit, period| Tier::fixed(limit, period, align.clone()).unwrap();
        assert_eq!(left_after_seven(fixed(10, second), fixed(20, second)).await, 13);
        assert_eq!(left_after_seven(fixed(10, second), fixed(5, second)).await, 0);
        assert_eq!(left_after_seven(fixed(10, second), fixed(10, seconds(3600))).await, 3);
    }
    let day = |limit| Tier::calendar(limit, Calendar::new(Unit::Day, "Europe/Berlin").unwrap()).unwrap();
    assert_eq!(left_after_seven(day(10), day(20)).await, 13);
    assert_eq!(left_after_seven(day(10), day(5)).await, 0);
    let sliding = |limit, period| Tier::sliding(limit, period).unwrap();
    assert_eq!(left_after_seven(sliding(10, second), sliding(20, second)).await, 13);
    assert_eq!(left_after_seven(sliding(10, second), sliding(10, seconds(60))).await, 3);
    let log = |limit, period| Tier::log(limit, period, Duration::ZERO, false).unwrap();
    assert_eq!(left_after_seven(log(10, second), log(20, seconds(60))).await, 13);
    assert_eq!(left_after_seven(log(10, second), log(5, second)).await, 0);
    let concurrent = |limit| Tier::concurrent(limit, second).unwrap();
    assert_eq!(left_after_seven(concurrent(10), concurrent(8)).await, 1);
}

#[tokio::test]
async fn a_limit_beside_a_backlog_can_be_changed() {
    let of = |backlog| policy(vec![Tier::backlog(backlog).unwrap(), Tier::sliding(10, seconds(60)).unwrap()]);
    let bench = Bench::new().await;
    assert!(bench.decide(NOON, &plan(&of(20), 7)).await.allowed);
    assert_eq!(remaining(&bench, NOON, &of(30)).await, [30, 3]);
}

#[tokio::test]
async fn a_gate_with_another_period_stays_shut_for_as_long_as_that() {
    for after in [Duration::from_millis(250), seconds(3)] {
        let bench = Bench::new().await;
        assert!(bench.passes(NOON, &policy(vec![Tier::gate(seconds(1)).unwrap()])).await);
        let after_us = u64::try_from(after.as_micros()).unwrap();
        let gate = policy(vec![Tier::gate(after).unwrap()]);
        assert_eq!(bench.decide(NOON, &plan(&gate, 1)).await.wait, Wait::After(after));
        assert!(!bench.passes(NOON + after_us - 1, &gate).await);
        assert!(bench.passes(NOON + after_us, &gate).await);
    }
}

#[tokio::test]
async fn a_lowered_limit_refuses_at_once_and_never_admits_without_end() {
    let bench = Bench::new().await;
    let before = policy(vec![Tier::fixed(100, seconds(60), EPOCH).unwrap()]);
    assert!(bench.decide(NOON, &plan(&before, 50)).await.allowed);
    let after = policy(vec![Tier::fixed(10, seconds(60), EPOCH).unwrap()]);
    for _ in 0..20 {
        assert_eq!(bench.decide(NOON, &plan(&after, 1)).await.wait, Wait::After(seconds(60)));
    }
    assert!(bench.decide(NOON + 60 * SECOND, &plan(&after, 10)).await.allowed);
}

#[tokio::test]
async fn a_slower_rate_is_kept_for_as_long_as_it_needs_though_nothing_passes_under_it() {
    let bench = Bench::new().await;
    let before = policy(vec![Tier::bucket(100, seconds(1), 100).unwrap()]);
    assert!(bench.decide(NOON, &plan(&before, 100)).await.allowed);
    let after = policy(vec![Tier::bucket(1, seconds(1), 100).unwrap()]);
    assert!(!bench.passes(NOON, &after).await);
    let kept_ms = bench.kept_ms(&plan(&after, 1)).await;
    assert!(kept_ms > 99_000, "{kept_ms}");
}

#[tokio::test]
async fn what_was_consumed_beyond_a_lowered_burst_is_kept_until_it_has_drained() {
    let bench = Bench::new().await;
    let before = policy(vec![Tier::bucket(20, seconds(1), 20).unwrap()]);
    assert!(bench.decide(NOON, &plan(&before, 20)).await.allowed);
    let after = policy(vec![Tier::bucket(1, seconds(1), 1).unwrap()]);
    assert_eq!(bench.decide(NOON, &plan(&after, 1)).await.wait, Wait::After(seconds(20)));
    let kept_ms = bench.kept_ms(&plan(&after, 1)).await;
    assert!(kept_ms > 19_000, "the caller was asked to wait for 20 s: {kept_ms}");
    // As long as any other, once nothing is beyond it.
    assert!(bench.passes(NOON + 20 * SECOND, &after).await);
    let kept_ms = bench.kept_ms(&plan(&after, 1)).await;
    assert!(kept_ms <= 2_252, "{kept_ms}");
}

#[tokio::test]
async fn what_was_consumed_beyond_a_lowered_limit_is_still_consumed_when_it_is_raised_again() {
    let hour = seconds(3_600);
    let kinds: [fn(u64, Duration) -> Tier; 4] = [
        |limit, hour| Tier::bucket(limit, hour, limit).unwrap(),
        |limit, hour| Tier::sliding(limit, hour).unwrap(),
        |limit, hour| Tier::fixed(limit, hour, EPOCH).unwrap(),
        |limit, hour| Tier::fixed(limit, hour, Align::First).unwrap(),
    ];
    for kind in kinds {
        let bench = Bench::new().await;
        let [high, low] = [100, 10].map(|limit| policy(vec![kind(limit, hour)]));
        assert!(bench.decide(NOON, &plan(&high, 100)).await.allowed);
        // Replicas learn of a change one after the other.
        for _ in 0..3 {
            assert_eq!(remaining(&bench, NOON, &low).await, [0], "{:?}", low.tiers());
            assert_eq!(remaining(&bench, NOON, &high).await, [0], "{:?}", high.tiers());
        }
    }
}

#[tokio::test]
async fn a_pace_that_is_lowered_goes_on_at_the_lower_rate() {
    let bench = Bench::new().await;
    let pace = |limit| Plan::pace(vec![Tier::bucket(limit, seconds(1), limit).unwrap()], "pace".to_owned());
    let (high, low) = (pace(1_000), pace(1));
    let mut steps = vec![(NOON, Step::Begin(&high))];
    steps.extend([(NOON, Step::Spend(&high)); 1_000]);
    steps.push((NOON, Step::Room(&low)));
    assert_eq!(bench.run(&steps).await.pop().unwrap()[..2], [0, 1_000_000]);
}

#[tokio::test]
async fn tiers_that_come_and_go_leave_the_others_as_they_are() {
    let bench = Bench::new().await;
    let second = || Tier::bucket(10, seconds(1), 10).unwrap();
    let minute = || Tier::bucket(100, seconds(60), 100).unwrap();
    let day = || Tier::fixed(1_000, seconds(86_400), EPOCH).unwrap();
    assert!(bench.decide(NOON, &plan(&policy(vec![second(), minute()]), 4)).await.allowed);
    let now = policy(vec![day(), minute(), second()]);
    assert_eq!(remaining(&bench, NOON, &now).await, [1_000, 96, 6]);
    assert!(bench.decide(NOON, &plan(&now, 1)).await.allowed);
    assert_eq!(remaining(&bench, NOON, &policy(vec![minute()])).await, [95]);
}

#[tokio::test]
async fn a_tier_that_is_changed_leaves_one_of_its_unit_beside_it_as_it_is() {
    let bench = Bench::new().await;
    let of = |first, second| {
        policy([first, second].map(|(rate, burst)| Tier::bucket(rate, seconds(1), burst).unwrap()).to_vec())
    };
    let before = of((30, 30), (10, 100));
    assert!(bench.decide(NOON, &plan(&before, 25)).await.allowed);
    assert!(bench.decide(NOON + SECOND, &plan(&before, 1)).await.allowed);
    assert_eq!(remaining(&bench, NOON + SECOND, &before).await, [29, 84]);
    assert_eq!(remaining(&bench, NOON + SECOND, &of((40, 40), (10, 100))).await, [39, 84]);
}

#[tokio::test]
async fn replicas_that_have_different_versions_for_a_moment_lose_nothing() {
    let bench = Bench::new().await;
    let old = policy(vec![Tier::fixed(100, seconds(60), EPOCH).unwrap()]);
    let new = policy(vec![Tier::fixed(50, seconds(60), EPOCH).unwrap()]);
    for _ in 0..20 {
        assert!(bench.passes(NOON, &old).await && bench.passes(NOON, &new).await);
    }
    assert_eq!(remaining(&bench, NOON, &new).await, [10]);
    assert_eq!(remaining(&bench, NOON, &old).await, [60]);
}

#[tokio::test]
async fn another_kind_is_another_rule() {
    assert_eq!(
        left_after_seven(Tier::sliding(10, seconds(1)).unwrap(), Tier::bucket(10, seconds(1), 10).unwrap()).await,
        10
    );
}
