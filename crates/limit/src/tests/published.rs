use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::time::{MissedTickBehavior, interval};

use crate::{Align, Consistency, PolicySettings, Tier};

use super::bench::{Bench, NOON, Step, call, plan, policy, seconds, settings};

/// A call that passed: when, whose, and at which replica.
type Passed = (Instant, usize, usize);

/// The most that `replicas` other than the one that asks let pass for `tenant` in any `time`.
fn most_of_others(passed: &[Passed], tenant: usize, replicas: usize, time: Duration) -> usize {
    let of = |replica| {
        let mine = || passed.iter().filter(|(_, whose, at)| (*whose, *at) == (tenant, replica)).map(|(when, ..)| *when);
        mine().map(|from| mine().filter(|when| *when >= from && *when - from <= time).count()).max().unwrap_or(0)
    };
    (0..replicas).map(of).sum::<usize>() - (0..replicas).map(of).min().unwrap_or(0)
}

/// The two-layer counter: 1,000 calls a second of 25 tenants at 3 instances, which report to Redis once a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_calls_a_second_cost_75_of_redis_at_most_and_pass_the_limit_by_no_more_than_is_stated() {
    const TENANTS: usize = 25;
    const REPLICAS: usize = 3;
    const LIMIT: usize = 60;
    let bench = Bench::new().await;
    let sync = seconds(1);
    // A window that doesn't end in a test, whatever the time of day.
    let window = Tier::fixed(60, seconds(25_000_000), Align::Epoch { spread: None }).unwrap();
    let counted = PolicySettings { consistency: Consistency::Async { sync }, ..settings("counted", vec![window]) };
    let replicas = join_all((0..REPLICAS).map(|_| bench.patient_limiter(vec![counted.clone()]))).await;
    let tenants: Vec<String> = (0..TENANTS).map(|tenant| format!("tenant-{tenant}")).collect();

    let mut tick = interval(Duration::from_millis(10));
    tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let (begun, mut passed) = (Instant::now(), Vec::<Passed>::new());
    for number in 0..4_000 {
        if number % 10 == 0 {
            tick.tick().await;
        }
        let (tenant, replica) = (number % TENANTS, number % REPLICAS);
        if replicas[replica].decide(&call(&tenants[tenant])).await.unwrap().allowed {
            passed.push((Instant::now(), tenant, replica));
        }
    }
    let calls = bench.script_calls().await;
    let most = begun.elapsed().as_secs_f64() * 75.0;
    assert!((calls as f64) <= most, "{calls} calls of Redis, {most} are allowed");

    let mut by_tenant = HashMap::<usize, usize>::new();
    for (_, tenant, _) in &passed {
        *by_tenant.entry(*tenant).or_default() += 1;
    }
    for (tenant, count) in by_tenant {
        // One sync until the others report, one until a replica learns it, and the time that both take.
        let others = most_of_others(&passed, tenant, REPLICAS, 2 * sync + Duration::from_millis(500));
        assert!((LIMIT..=LIMIT + others).contains(&count), "{count} of {LIMIT} passed, {others} unseen in two syncs");
    }
}

#[tokio::test]
async fn a_rolling_log_with_a_minimum_gap_counts_those_that_come_too_soon() {
    let bench = Bench::new().await;
    // Ten in ten seconds, half a second apart, and what is blocked counts as an attempt.
    let policy = policy(vec![Tier::log(10, seconds(10), Duration::from_millis(500), true).unwrap()]);
    let plan = plan(&policy, 1);
    let passed = async |times: &[u64]| -> Vec<bool> {
        let steps: Vec<_> = times.iter().map(|ms| (NOON + ms * 1_000, Step::Decide(&plan))).collect();
        bench.run(&steps).await.iter().map(|report| report[1] == 1).collect()
    };
    assert_eq!(passed(&[0, 400, 899, 1_399]).await, [true, false, false, true], "a blocked call starts the gap again");
    assert_eq!(passed(&[1_899, 2_399, 2_899, 3_399, 3_899, 4_399]).await, [true; 6]);
    // The last ten seconds have ten then, blocked ones among them; this one is the eleventh, so the first is forgotten
    // early.
    assert_eq!(passed(&[4_899, 10_400]).await, [false, true], "the one at 400 ms has left");
}
