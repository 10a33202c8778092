use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_store::Store;
use futures::future::join_all;

use crate::decide::clock::Clock;
use crate::decide::redis_decide;
use crate::{Align, Policy, Tier};

use super::bench::{Bench, NOON, Step, plan, policy, seconds, settings};

const INTAKES: usize = 3;
/// Decisions by each kind: a million in all.
const DECISIONS: usize = 250_000;
/// Requests of an intake at once.
const AT_ONCE: usize = 64;
/// More than all of them.
const PLENTY: u64 = 1_000_000;

/// Decides as fast as it can; shows when the admitted were, by the Redis clock.
async fn decide(store: Store, policy: Arc<Policy>, count: usize) -> Vec<u64> {
    let (clock, plan) = (Clock::new(), plan(&policy, 1));
    let mut admitted = Vec::new();
    for _ in 0..count {
        let answer = redis_decide::decide(&store, &clock, &plan, seconds(60)).await.unwrap();
        if answer.verdicts[0].passed {
            admitted.push(answer.now_us);
        }
    }
    admitted
}

/// When the admitted of all intakes were, under `tier` and another one that counts them: nothing was charged to that
/// for those that were refused.
async fn admitted(tier: Tier) -> Vec<u64> {
    let bench = Bench::new().await;
    let policy = policy(vec![tier, Tier::fixed(PLENTY, seconds(86_400 * 300), Align::First).unwrap()]);
    let intakes = join_all((0..INTAKES).map(|_| bench.patient_store())).await;
    let requests = (0..INTAKES * AT_ONCE).map(|at| {
        let count = DECISIONS / INTAKES / AT_ONCE + usize::from(at < DECISIONS % (INTAKES * AT_ONCE));
        tokio::spawn(decide(intakes[at % INTAKES].clone(), policy.clone(), count))
    });
    let mut times: Vec<u64> = join_all(requests).await.into_iter().flat_map(Result::unwrap).collect();
    times.sort_unstable();
    assert!(times.len() > 1_000 && times.len() < DECISIONS * 9 / 10, "{} admitted prove little", times.len());
    let left = bench.decide_now(&plan(&policy, 0)).await.policies[0].tiers[1].remaining;
    assert_eq!(PLENTY - left, u64::try_from(times.len()).unwrap(), "what was charged is what was admitted");
    times
}

/// The most within any `length`.
fn most_within(times: &[u64], length: Duration) -> usize {
    let length = u64::try_from(length.as_micros()).unwrap();
    let mut oldest = 0;
    let within = times.iter().enumerate().map(|(at, time)| {
        while time - times[oldest] >= length {
            oldest += 1;
        }
        at + 1 - oldest
    });
    within.max().unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_lets_no_window_have_more_than_its_rate_and_burst() {
    let times = admitted(Tier::bucket(2, Duration::from_millis(1), 50).unwrap()).await;
    // Of any two times: calls − rate · time between ≤ burst, in whole numbers.
    let mut least = i128::MAX;
    for (at, time) in (0..).zip(times) {
        let drained = 2 * i128::from(time);
        least = least.min(1_000 * at - drained);
        assert!(1_000 * (at + 1) - drained - least <= 50 * 1_000, "the call at {time}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_lets_no_two_pass_within_its_period() {
    let times = admitted(Tier::gate(Duration::from_micros(1_500)).unwrap()).await;
    assert_eq!(most_within(&times, Duration::from_micros(1_500)), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fixed_window_has_no_more_than_its_limit_and_any_other_no_more_than_twice() {
    let length = Duration::from_millis(50);
    let times = admitted(Tier::fixed(100, length, Align::Epoch { spread: None }).unwrap()).await;
    let mut windows = BTreeMap::<u64, usize>::new();
    for time in &times {
        *windows.entry(time / 50_000).or_default() += 1;
    }
    assert!(windows.values().all(|count| *count <= 100), "{windows:?}");
    assert!(most_within(&times, length) <= 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_lets_no_window_have_more_than_its_limit() {
    let length = Duration::from_millis(10);
    let times = admitted(Tier::log(20, length, Duration::ZERO, false).unwrap()).await;
    assert_eq!(most_within(&times, length), 20);
}

#[tokio::test]
async fn at_random_times_no_true_window_has_more_than_the_bound() {
    let bench = Bench::new().await;
    let mut random = fastrand::Rng::new();
    let second = Duration::from_millis(1_000);
    // The rule, how long a window is, and the most that may pass in it.
    let rules = [
        (Tier::bucket(20, second, 7).unwrap(), second, 27),
        (Tier::gate(Duration::from_millis(40)).unwrap(), Duration::from_millis(40), 1),
        (Tier::fixed(20, second, Align::First).unwrap(), second, 40),
        (Tier::log(20, second, Duration::ZERO, false).unwrap(), second, 20),
    ];
    for (at, (tier, window, most)) in rules.into_iter().enumerate() {
        let policy = Arc::new(Policy::new(settings(&format!("rule-{at}"), vec![tier])).unwrap());
        let plan = plan(&policy, 1);
        let mut now = NOON;
        let mut arrive = || {
            now += if random.u8(0..50) == 0 { random.u64(0..3 * 1_000_000) } else { random.u64(0..20_000) };
            now
        };
        let steps: Vec<_> = (0..4_000).map(|_| (arrive(), Step::Decide(&plan))).collect();
        let reports = bench.run(&steps).await;
        let passed: Vec<u64> =
            steps.iter().zip(reports).filter(|(_, report)| report[1] == 1).map(|((now, _), _)| *now).collect();
        let window = u64::try_from(window.as_micros()).unwrap();
        for (first, from) in passed.iter().enumerate() {
            let within = passed[first..].iter().take_while(|time| *time - from < window).count();
            assert!(within <= most, "{within} of {most} in one window of rule {at}");
        }
    }
}

#[tokio::test]
async fn fixed_windows_of_the_clock_have_no_more_than_the_limit() {
    let bench = Bench::new().await;
    let policy = policy(vec![Tier::fixed(20, Duration::from_millis(500), Align::Epoch { spread: None }).unwrap()]);
    let plan = plan(&policy, 1);
    let steps: Vec<_> = (0..4_000).map(|step| (NOON + step * 3_000, Step::Decide(&plan))).collect();
    let reports = bench.run(&steps).await;
    let mut passed = BTreeMap::<u64, usize>::new();
    for ((now, _), report) in steps.iter().zip(reports) {
        *passed.entry(now / 500_000).or_default() += usize::from(report[1] == 1);
    }
    assert!(passed.len() >= 24 && passed.values().all(|count| *count == 20), "{passed:?}");
}
