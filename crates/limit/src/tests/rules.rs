/// As a pace uses them.
mod pace;
/// Several tiers, policies and requests at once.
mod several;
/// Windows: fixed, sliding and logged.
mod windows;

use std::sync::Arc;
use std::time::Duration;

use crate::{Align, Policy, Tier, Wait};

use super::bench::{Bench, NOON, SECOND, Step, plan, plan_of, policy, seconds, settings};

fn per_second(limit: u64) -> Tier {
    Tier::bucket(limit, seconds(1), limit).unwrap()
}

fn wait_us(us: u64) -> Wait {
    Wait::us(us)
}

impl Bench {
    /// How many of `count` calls at one time pass.
    async fn passed(&self, now: u64, policy: &Arc<Policy>, count: usize) -> usize {
        let plan = plan(policy, 1);
        let steps = vec![(now, Step::Decide(&plan)); count];
        self.run(&steps).await.iter().filter(|report| report[1] == 1).count()
    }

    async fn wait(&self, now: u64, policy: &Arc<Policy>, n: u64) -> Wait {
        self.decide(now, &plan(policy, n)).await.wait
    }

    async fn remaining(&self, now: u64, policy: &Arc<Policy>) -> Vec<u64> {
        self.decide(now, &plan(policy, 0)).await.policies[0].tiers.iter().map(|tier| tier.remaining).collect()
    }
}

#[tokio::test]
async fn a_bucket_drains_evenly_and_lets_a_burst_through() {
    let bench = Bench::new().await;
    let policy = policy(vec![Tier::bucket(10, seconds(1), 5).unwrap()]);
    assert_eq!(bench.passed(NOON, &policy, 8).await, 5);
    assert_eq!(bench.wait(NOON, &policy, 1).await, wait_us(100_000));
    assert_eq!(bench.wait(NOON, &policy, 3).await, wait_us(300_000));
    assert_eq!(bench.wait(NOON + 99_999, &policy, 1).await, wait_us(1));
    assert_eq!(bench.passed(NOON + 100_000, &policy, 2).await, 1);
    assert_eq!(bench.passed(NOON + 10 * SECOND, &policy, 8).await, 5);
}

#[tokio::test]
async fn thirty_thousand_a_second_are_not_one_too_many() {
    let bench = Bench::new().await;
    let policy = policy(vec![Tier::bucket(30_000, seconds(1), 30).unwrap()]);
    let plan = plan(&policy, 1);
    let steps: Vec<_> = (0..=10_000).map(|step| (NOON + step * 10, Step::Decide(&plan))).collect();
    let passed = bench.run(&steps).await.iter().filter(|report| report[1] == 1).count();
    assert_eq!(passed, 30 + 3_000);
}

#[tokio::test]
async fn a_gate_opens_once_per_period_to_the_microsecond() {
    let bench = Bench::new().await;
    // Also far below a second, and across the full second, where times of fewer digits follow.
    for (period, start) in [(Duration::from_secs(3), NOON), (Duration::from_micros(50), NOON + SECOND - 20)] {
        let us = u64::try_from(period.as_micros()).unwrap();
        bench.store.command::<()>(&redis::cmd("FLUSHALL")).await.unwrap();
        let gate = policy(vec![Tier::gate(period).unwrap()]);
        assert!(bench.passes(start, &gate).await);
        assert_eq!(bench.wait(start + 1, &gate, 1).await, wait_us(us - 1));
        assert!(!bench.passes(start + us - 1, &gate).await);
        assert!(bench.passes(start + us, &gate).await);
    }
}

#[tokio::test]
async fn asking_costs_nothing_and_more_than_the_burst_never_passes_and_says_so() {
    let bench = Bench::new().await;
    let policy =
        policy(vec![Tier::bucket(10, seconds(1), 5).unwrap(), Tier::fixed(4, seconds(60), Align::First).unwrap()]);
    for _ in 0..10 {
        assert_eq!(bench.remaining(NOON, &policy).await, [5, 4]);
    }
    let never = bench.decide(NOON, &plan(&policy, 5)).await;
    assert_eq!((never.allowed, never.wait, never.retry_after()), (false, Wait::Never, None));
    assert_eq!(never.message().unwrap(), "the cost of this request is 5, and `limit` never allows more than 4 at once");
    assert_eq!(bench.remaining(NOON, &policy).await, [5, 4]);
}

#[tokio::test]
async fn a_refund_stops_at_empty() {
    let bench = Bench::new().await;
    let tiers = vec![
        per_second(5),
        Tier::fixed(5, seconds(60), Align::Epoch { spread: None }).unwrap(),
        Tier::fixed(5, seconds(60), Align::First).unwrap(),
        Tier::sliding(5, seconds(60)).unwrap(),
        Tier::log(5, seconds(60), Duration::ZERO, false).unwrap(),
    ];
    let policy = policy(tiers);
    let (two, three) = (plan(&policy, 2), plan(&policy, 3));
    bench.run(&[(NOON, Step::Decide(&two))]).await;
    assert_eq!(bench.remaining(NOON, &policy).await, [3; 5]);
    bench.run(&[(NOON, Step::Refund(&three))]).await;
    assert_eq!(bench.remaining(NOON, &policy).await, [5; 5]);
    bench.run(&[(NOON, Step::Refund(&three))]).await;
    assert_eq!(bench.remaining(NOON, &policy).await, [5; 5]);
    assert_eq!(bench.passed(NOON, &policy, 9).await, 5);
}

#[tokio::test]
async fn leases_are_out_until_released_or_expired() {
    let bench = Bench::new().await;
    let policy = policy(vec![Tier::concurrent(2, seconds(30)).unwrap(), per_second(100)]);
    let (one, two, three) = (plan(&policy, 1), plan(&policy, 1), plan(&policy, 1));
    assert!(bench.decide(NOON, &one).await.allowed);
    assert!(bench.decide(NOON + SECOND, &two).await.allowed);
    assert_eq!(bench.decide(NOON + SECOND, &three).await.wait, wait_us(29 * SECOND));
    bench.run(&[(NOON + SECOND, Step::Release(&two)), (NOON + SECOND, Step::Release(&two))]).await;
    assert_eq!(bench.remaining(NOON + SECOND, &policy).await, [1, 99], "a release gives the lease back, not the call");
    assert!(bench.decide(NOON + SECOND, &three).await.allowed);
    assert!(!bench.passes(NOON + 30 * SECOND - 1, &policy).await);
    assert!(bench.passes(NOON + 30 * SECOND, &policy).await);
}

#[tokio::test]
async fn who_never_slows_down_still_gets_the_rate() {
    let bench = Bench::new().await;
    let policy = policy(vec![per_second(10)]);
    let plan = plan(&policy, 1);
    let steps: Vec<_> = (0..5_000).map(|ms| (NOON + ms * 1_000, Step::Decide(&plan))).collect();
    let passed = bench.run(&steps).await.iter().filter(|report| report[1] == 1).count();
    assert_eq!(passed, 10 + 49);
}

#[tokio::test]
async fn a_backlog_refuses_by_the_length_of_a_queue() {
    let bench = Bench::new().await;
    let policy = Policy::new(settings("backlog", vec![Tier::backlog(3).unwrap()])).unwrap();
    // The queue of the test is empty.
    let decision = bench.decide(NOON, &plan_of(std::slice::from_ref(&policy), 3)).await;
    let after_it = |decision: &crate::Decision| (decision.allowed, decision.policies[0].tiers[0].remaining);
    assert_eq!(after_it(&decision), (true, 2), "it is one job in the queue, whatever it costs");
    let peek = bench.decide(NOON, &plan_of(std::slice::from_ref(&policy), 0)).await;
    assert_eq!(after_it(&peek), (true, 3));
    assert_eq!(bench.decide(NOON, &plan_of(&[policy], 4)).await.wait, Wait::Never);
}
