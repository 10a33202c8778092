use std::sync::Arc;
use std::time::Duration;

use dripfeed_store::Script;

use crate::decide::plan::{KeyIndex, Plan};
use crate::lua::FRAGMENTS;
use crate::{Align, Decision, Mode, Policies, Policy, PolicySettings, Tier, Wait};

use super::bench::{Bench, NOON, SECOND, Step, call, keys, plan, plan_of, policy, seconds, settings};

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
    assert_eq!(never.message().unwrap(), "this request counts 5, and `limit` never lets more than 4 through at once");
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
async fn a_refused_request_charges_no_tier() {
    let bench = Bench::new().await;
    let policies = [
        Policy::new(settings("first", vec![per_second(10), Tier::fixed(10, seconds(60), Align::First).unwrap()]))
            .unwrap(),
        Policy::new(settings("second", vec![Tier::bucket(1, seconds(2), 1).unwrap(), per_second(10)])).unwrap(),
    ];
    let (one, peek) = (plan_of(&policies, 1), plan_of(&policies, 0));
    assert!(bench.decide(NOON, &one).await.allowed);
    for _ in 0..50 {
        let refused = bench.decide(NOON, &one).await;
        assert_eq!((refused.allowed, refused.wait), (false, wait_us(2 * SECOND)));
        assert!(refused.policies[0].allowed && !refused.policies[1].allowed);
    }
    let left = bench.decide(NOON, &peek).await;
    let left: Vec<u64> = left.policies.iter().flat_map(|policy| &policy.tiers).map(|tier| tier.remaining).collect();
    assert_eq!(left, [9, 9, 0, 9]);
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
async fn the_wait_is_the_longest_over_the_tiers_that_refuse() {
    let bench = Bench::new().await;
    let tiers = vec![per_second(1), Tier::gate(seconds(7)).unwrap(), Tier::gate(seconds(3)).unwrap()];
    let policy = policy(tiers);
    assert!(bench.passes(NOON, &policy).await);
    assert_eq!(bench.wait(NOON + SECOND, &policy, 1).await, wait_us(6 * SECOND));
    assert!(bench.passes(NOON + 7 * SECOND, &policy).await);
}

#[tokio::test]
async fn a_shadow_never_changes_an_answer_and_is_judged_as_if_it_did() {
    let bench = Bench::new().await;
    let shadow = PolicySettings { mode: Mode::Shadow, ..settings("shadow", vec![per_second(1)]) };
    let policies = [Policy::new(settings("real", vec![per_second(3)])).unwrap(), Policy::new(shadow).unwrap()];
    let one = plan_of(&policies, 1);
    let mut told = Vec::new();
    for _ in 0..5 {
        let decision = bench.decide(NOON, &one).await;
        told.push((decision.allowed, decision.policies[1].allowed));
        assert!(decision.allowed || decision.wait == wait_us(333_334), "{:?}", decision.wait);
    }
    assert_eq!(told, [(true, true), (true, false), (true, false), (false, false), (false, false)]);
    // The shadow was charged once, so it is free again after a second.
    assert!(bench.decide(NOON + SECOND, &one).await.policies[1].allowed);
}

#[tokio::test]
async fn a_backlog_refuses_by_the_length_of_a_queue() {
    let bench = Bench::new().await;
    let policy = Policy::new(settings("backlog", vec![Tier::backlog(3).unwrap()])).unwrap();
    // The queue of the test is empty.
    let decision = bench.decide(NOON, &plan_of(std::slice::from_ref(&policy), 3)).await;
    assert_eq!((decision.allowed, decision.policies[0].tiers[0].remaining), (true, 3));
    assert_eq!(bench.decide(NOON, &plan_of(&[policy], 4)).await.wait, Wait::Never);
}

#[tokio::test]
async fn a_pace_spends_its_room_and_a_lost_state_is_used_up() {
    let bench = Bench::new().await;
    let tiers = vec![per_second(10), Tier::fixed(15, seconds(60), Align::First).unwrap()];
    let pace = Plan::pace(tiers, "pace".to_owned());
    let room = async |now| bench.run_one(now, Step::Room(&pace)).await[..2].to_vec();
    assert_eq!(room(NOON).await, [0, 60_000_000], "nobody knows what was spent");
    assert_eq!(room(NOON + 60 * SECOND).await, [10, 0]);
    for _ in 0..10 {
        bench.run_one(NOON + 60 * SECOND, Step::Spend(&pace)).await;
    }
    assert_eq!(room(NOON + 60 * SECOND).await, [0, 100_000]);
    assert_eq!(room(NOON + 61 * SECOND).await, [5, 0]);
}

#[tokio::test]
async fn a_tier_that_comes_to_a_pace_has_lost_nothing() {
    let bench = Bench::new().await;
    let day = || Tier::fixed(15, seconds(86_400), Align::Epoch { spread: None }).unwrap();
    let (before, after) = (vec![per_second(10)], vec![per_second(10), day()]);
    let (before, after) = (Plan::pace(before, "pace".to_owned()), Plan::pace(after, "pace".to_owned()));
    let steps = [(NOON, Step::Room(&before)), (NOON + SECOND, Step::Room(&after))];
    let rooms: Vec<i64> = bench.run(&steps).await.into_iter().map(|told| told[0]).collect();
    assert_eq!(rooms, [0, 10]);
}

#[tokio::test]
async fn a_pace_that_begins_has_everything() {
    let bench = Bench::new().await;
    let pace = Plan::pace(vec![per_second(10)], "pace".to_owned());
    let steps = [(NOON, Step::Begin(&pace)), (NOON, Step::Spend(&pace)), (NOON, Step::Begin(&pace))];
    let rooms: Vec<Vec<i64>> = bench.run(&steps).await;
    assert_eq!((rooms[0][0], rooms[2][0]), (10, 9));
}

#[tokio::test]
async fn calls_that_begin_late_drain_from_then_on() {
    let bench = Bench::new().await;
    let pace = Plan::pace(vec![Tier::bucket(10, seconds(1), 4).unwrap()], "pace".to_owned());
    let steps = [(NOON, Step::Begin(&pace)), (NOON, Step::RoomOfLate(&pace)), (NOON, Step::Spend(&pace))];
    assert_eq!(bench.run(&steps).await[1][0], 4);
    // 200 ms until it begins, and 100 ms for it to drain; of a prompt one 100 ms alone.
    for (ms, left) in [(0, 1), (99, 1), (100, 2), (200, 3), (299, 3), (300, 4)] {
        let room = bench.run_one(NOON + ms * 1000, Step::Room(&pace)).await;
        assert_eq!(room[0], left, "after {ms} ms");
    }
}

#[tokio::test]
async fn a_window_grants_nothing_that_could_begin_after_it() {
    let bench = Bench::new().await;
    let window = |align| Plan::pace(vec![Tier::fixed(10, seconds(1), align).unwrap()], "pace".to_owned());
    let pace = window(Align::Epoch { spread: None });
    let steps = [(NOON, Step::Begin(&pace)), (NOON, Step::RoomOfLate(&pace)), (NOON, Step::Spend(&pace))];
    bench.run(&steps).await;
    for (ms, left, wait) in [(800, 9, 0), (801, 0, 199_000), (999, 0, 1000), (1000, 10, 0)] {
        let room = bench.run_one(NOON + ms * 1000, Step::RoomOfLate(&pace)).await;
        assert_eq!(room[..2], [left, wait], "after {ms} ms");
    }
}

/// When calls pass by the rules alone, asked for one by one.
async fn passing_one_by_one(bench: &Bench, pace: &Plan, most: usize) -> Vec<i64> {
    let (mut now, mut times) = (NOON, Vec::new());
    while times.len() < most {
        let told = bench.run_one(now, Step::Room(pace)).await;
        now += u64::try_from(told[1]).unwrap();
        if told[0] > 0 {
            bench.run_one(now, Step::Spend(pace)).await;
            times.push(i64::try_from(now - NOON).unwrap());
        }
    }
    times
}

#[tokio::test]
async fn when_calls_will_have_passed_is_told_as_it_comes() {
    let bench = Bench::new().await;
    let fixed = |limit, period| Tier::fixed(limit, period, Align::Epoch { spread: None }).unwrap();
    let bucket = |limit, period, burst| Tier::bucket(limit, period, burst).unwrap();
    let paces = [
        vec![bucket(7, seconds(1), 3)],
        vec![bucket(7, seconds(1), 3), bucket(20, seconds(10), 20)],
        vec![fixed(5, seconds(1))],
        vec![fixed(5, seconds(1)), fixed(12, seconds(10))],
        vec![Tier::fixed(4, seconds(3), Align::First).unwrap()],
        vec![bucket(3, seconds(1), 2), fixed(7, seconds(4))],
        vec![bucket(2, seconds(1), 1), fixed(10, seconds(10))],
        vec![bucket(1, seconds(5), 4), fixed(2, seconds(1))],
        vec![Tier::gate(Duration::from_millis(1_700)).unwrap(), fixed(2, seconds(3)), fixed(9, seconds(60))],
    ];
    for (number, tiers) in paces.into_iter().enumerate() {
        let shown = format!("{tiers:?}");
        let pace = Plan::pace(tiers, format!("pace{number}"));
        // From within the windows, with something spent.
        bench.run_one(NOON - 500_000, Step::Begin(&pace)).await;
        bench.run_one(NOON - 500_000, Step::Spend(&pace)).await;
        let told = bench.run_one(NOON, Step::Passing(&pace)).await;
        let real = passing_one_by_one(&bench, &pace, told.len()).await;
        assert_eq!(told[..10], real[..10], "{shown}");
        // Farther away never too early, and by at most a window too late.
        assert!(
            told.iter().zip(&real).all(|(told, real)| (0..=60_000_000).contains(&(told - real))),
            "{shown} {told:?}"
        );
    }
}

impl Bench {
    async fn run_one(&self, now: u64, step: Step<'_>) -> Vec<i64> {
        self.run(&[(now, step)]).await.remove(0)
    }
}

#[tokio::test]
async fn later_requests_of_one_script_see_what_the_earlier_were_charged() {
    let bench = Bench::new().await;
    // As a bucket admits a batch: each request on its own, and all is written once.
    let verb = "-- needs: rules/check
        local answers = {}
        for i, plan in ipairs(ARGV) do
          local verdict = limit_check(plan)
          limit_charge(verdict)
          answers[i] = limit_report(verdict)
        end
        limit_flush()
        return answers";
    let batch = Script::new("batch", &[FRAGMENTS], verb);
    let policies = [
        Policy::new(settings("caller", vec![Tier::bucket(2, seconds(3_600), 2).unwrap()])).unwrap(),
        Policy::new(PolicySettings {
            key: vec![],
            ..settings("all", vec![Tier::bucket(4, seconds(3_600), 4).unwrap()])
        })
        .unwrap(),
    ];
    let policies = Policies::new(policies.into()).unwrap();
    let plans = ["a", "a", "a", "b", "b", "c"].map(|caller| Plan::new(&policies, &keys(), &call(caller)));
    let mut keys = KeyIndex::after(vec!["jobs".to_owned()]);
    let packed = plans.each_ref().map(|plan| plan.pack(&mut keys, 0));
    assert_eq!(keys.keys().len(), 1 + 3 + 1);
    let mut call = batch.on(keys.keys());
    for plan in &packed {
        call.arg(&plan[..]);
    }
    let reports: Vec<Vec<i64>> = bench.store.run(&call).await.unwrap();
    let decisions = plans.iter().zip(&reports).map(|(plan, report)| Decision::read(plan, report).unwrap());
    let violated: Vec<Vec<String>> = decisions
        .map(|decision| decision.violated().map(|verdict| verdict.policy.id().to_string()).collect())
        .collect();
    assert_eq!(violated, [vec![], vec![], vec!["caller"], vec![], vec![], vec!["all"]]);
}
