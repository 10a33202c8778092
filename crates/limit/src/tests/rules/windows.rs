use std::sync::Arc;
use std::time::Duration;

use super::wait_us;
use crate::tests::bench::{Bench, NOON, SECOND, plan, policy, seconds, settings};
use crate::{Align, Policy, Tier, Wait};

#[tokio::test]
async fn fixed_windows_begin_with_the_clock_or_with_the_first_call() {
    let bench = Bench::new().await;
    let epoch = policy(vec![Tier::fixed(2, Duration::from_millis(100), Align::Epoch { spread: None }).unwrap()]);
    assert_eq!(bench.passed(NOON + 90_000, &epoch, 3).await, 2);
    assert_eq!(bench.wait(NOON + 90_001, &epoch, 1).await, wait_us(9_999));
    assert_eq!(bench.passed(NOON + 99_999, &epoch, 3).await, 0);
    assert_eq!(bench.passed(NOON + 100_000, &epoch, 3).await, 2);

    let first = Policy::new(settings("first", vec![Tier::fixed(2, seconds(10), Align::First).unwrap()])).unwrap();
    let first = Arc::new(first);
    assert_eq!(bench.passed(NOON + 7 * SECOND, &first, 1).await, 1);
    assert_eq!(bench.passed(NOON + 16 * SECOND, &first, 3).await, 1);
    assert_eq!(bench.wait(NOON + 16 * SECOND, &first, 1).await, wait_us(SECOND));
    assert_eq!(bench.passed(NOON + 17 * SECOND, &first, 3).await, 2);
}

#[tokio::test]
async fn spread_windows_do_not_all_begin_at_once() {
    let bench = Bench::new().await;
    let align = Align::Epoch { spread: Some(crate::KeyPart::Caller) };
    let spread = policy(vec![Tier::fixed(1, seconds(60), align).unwrap()]);
    let decision = bench.decide(NOON, &plan(&spread, 1)).await;
    let reset = decision.policies[0].tiers[0].reset;
    assert!(reset > Duration::ZERO && reset < seconds(60), "{reset:?}");
    let end = NOON + u64::try_from(reset.as_micros()).unwrap();
    assert!(!bench.passes(end - 1, &spread).await);
    assert!(bench.passes(end, &spread).await);
    assert_eq!(bench.wait(end, &spread, 1).await, Wait::After(seconds(60)));
}

#[tokio::test]
async fn a_sliding_window_weighs_the_one_before() {
    let bench = Bench::new().await;
    let policy = policy(vec![Tier::sliding(40, seconds(60)).unwrap()]);
    assert_eq!(bench.passed(NOON, &policy, 40).await, 40);
    // A quarter into the next window: 40 · 3/4 + 5 = 35 of 40.
    let quarter = NOON + 75 * SECOND;
    assert_eq!(bench.passed(quarter, &policy, 5).await, 5);
    assert_eq!(bench.remaining(quarter, &policy).await, [5]);
    assert_eq!(bench.passed(quarter, &policy, 9).await, 5);
    // 40 · (60 − e) + 11 · 60 ≤ 40 · 60 from e = 16.5 s on.
    assert_eq!(bench.wait(quarter, &policy, 1).await, wait_us(1_500_000));
}

#[tokio::test]
async fn a_sliding_window_is_an_estimate() {
    let bench = Bench::new().await;
    let policy = policy(vec![Tier::sliding(100, seconds(1)).unwrap()]);
    // Two bursts less than a second apart: the first is taken for evenly spread.
    let (late, early) = (NOON + 990_000, NOON + SECOND + 980_000);
    assert_eq!(bench.passed(late, &policy, 150).await + bench.passed(early, &policy, 150).await, 198);
}

#[tokio::test]
async fn a_log_is_exact_in_any_window_also_across_full_seconds() {
    let bench = Bench::new().await;
    let policy = policy(vec![Tier::log(100, seconds(1), Duration::ZERO, false).unwrap()]);
    // 999,995 µs and 5 µs: as text without padding, the later would sort first.
    assert_eq!(bench.passed(NOON + 999_995, &policy, 60).await, 60);
    assert_eq!(bench.passed(NOON + SECOND + 5, &policy, 60).await, 40);
    assert_eq!(bench.wait(NOON + SECOND + 5, &policy, 1).await, wait_us(999_990));
    assert_eq!(bench.wait(NOON + SECOND + 5, &policy, 61).await, wait_us(SECOND));
    assert_eq!(bench.passed(NOON + 2 * SECOND - 6, &policy, 1).await, 0);
    assert_eq!(bench.passed(NOON + 2 * SECOND - 5, &policy, 99).await, 60);
}

#[tokio::test]
async fn a_log_keeps_calls_apart_and_can_count_the_denied() {
    let bench = Bench::new().await;
    let gap = policy(vec![Tier::log(5, seconds(10), seconds(1), false).unwrap()]);
    assert!(bench.passes(NOON, &gap).await);
    assert_eq!(bench.wait(NOON + 400_000, &gap, 1).await, wait_us(600_000));
    assert_eq!(bench.remaining(NOON + 400_000, &gap).await, [0]);
    assert!(bench.passes(NOON + SECOND, &gap).await);

    let denied = settings("denied", vec![Tier::log(2, seconds(1), Duration::ZERO, true).unwrap()]);
    let denied = Arc::new(Policy::new(denied).unwrap());
    assert_eq!(bench.passed(NOON, &denied, 2).await, 2);
    for late in 1..10 {
        // Who never slows down stays out.
        assert_eq!(bench.passed(NOON + late * SECOND / 2, &denied, 2).await, 0, "{late}");
    }
    assert_eq!(bench.passed(NOON + 20 * SECOND, &denied, 3).await, 2);
}
