use std::time::{Duration, Instant};

use crate::decide::clock::Clock;
use crate::decide::redis_decide;
use crate::local::LocalScope;
use crate::{Align, Calendar, Plan, Tier, Unit, Wait};

use super::bench::{Bench, NOON, SECOND, Step, plan, policy, seconds};

const HOUR: u64 = 3_600 * SECOND;

#[tokio::test]
async fn a_clock_put_back_a_little_stands_still_until_it_was() {
    let bench = Bench::new().await;
    let policy = policy(vec![Tier::bucket(2, seconds(1), 2).unwrap()]);
    assert!(bench.passes(NOON, &policy).await);
    assert!(bench.passes(NOON - 300_000, &policy).await);
    // What is reported is by the clock as it is now.
    assert_eq!(bench.decide(NOON - 300_000, &plan(&policy, 1)).await.wait, Wait::After(Duration::from_millis(800)));
    assert!(!bench.passes(NOON + 499_999, &policy).await);
    assert!(bench.passes(NOON + 500_000, &policy).await);
}

#[tokio::test]
async fn jitter_of_the_clock_makes_no_calls() {
    let bench = Bench::new().await;
    let tiers = vec![
        Tier::bucket(10, seconds(1), 10).unwrap(),
        Tier::fixed(10, seconds(1), Align::Epoch { spread: None }).unwrap(),
        Tier::log(10, seconds(1), Duration::ZERO, false).unwrap(),
    ];
    for (at, tier) in tiers.into_iter().enumerate() {
        let start = NOON + u64::try_from(at).unwrap() * HOUR;
        bench.store.command::<()>(&redis::cmd("FLUSHALL")).await.unwrap();
        let policy = policy(vec![tier]);
        let mut passed = 0;
        for step in 0..100 {
            let now = start + 500 - (step % 2) * 1_000;
            passed += usize::from(bench.passes(now, &policy).await);
        }
        // Ten before the second's border, at which the clock began, and ten behind it.
        assert!(passed <= 20, "{passed} of tier {at}");
    }
}

#[tokio::test]
async fn a_clock_put_back_by_an_hour_costs_at_most_one_refill() {
    let bench = Bench::new().await;
    let tiers = [
        Tier::bucket(10, seconds(1), 10).unwrap(),
        Tier::gate(seconds(1)).unwrap(),
        Tier::fixed(10, seconds(1), Align::Epoch { spread: None }).unwrap(),
        Tier::fixed(10, seconds(1), Align::First).unwrap(),
        Tier::sliding(10, seconds(1)).unwrap(),
        Tier::log(10, seconds(1), Duration::ZERO, false).unwrap(),
    ];
    for tier in tiers {
        bench.store.command::<()>(&redis::cmd("FLUSHALL")).await.unwrap();
        let shown = tier.to_string();
        let policy = policy(vec![tier]);
        assert!(bench.passes(NOON, &policy).await, "{shown}");
        let back = NOON - HOUR;
        // Nothing is left then: a clock that is set gives nobody a second burst.
        assert!(!bench.passes(back, &policy).await, "{shown}");
        assert!(bench.passes(back + 2 * SECOND, &policy).await, "{shown}");
    }
}

#[tokio::test]
async fn leases_live_on_as_long_as_they_had_when_the_clock_is_put_back() {
    let bench = Bench::new().await;
    let policy = policy(vec![Tier::concurrent(1, seconds(10)).unwrap()]);
    assert!(bench.passes(NOON, &policy).await);
    let back = NOON - HOUR;
    assert_eq!(bench.decide(back, &plan(&policy, 1)).await.wait, Wait::After(seconds(10)));
    assert!(bench.passes(back + 10 * SECOND, &policy).await);
}

#[tokio::test]
async fn a_day_is_not_lost_with_a_second_when_the_clock_is_put_back_by_a_minute() {
    let bench = Bench::new().await;
    let day = Tier::fixed(100, seconds(86_400), Align::Epoch { spread: None }).unwrap();
    let policy = policy(vec![Tier::bucket(10, seconds(1), 10).unwrap(), day]);
    assert!(bench.passes(NOON, &policy).await);
    let back = NOON - 60 * SECOND;
    assert!(!bench.passes(back, &policy).await);
    let later = bench.decide(back + SECOND, &plan(&policy, 1)).await;
    assert!(later.allowed);
    assert_eq!(later.policies[0].tiers[1].remaining, 98);
}

#[tokio::test]
async fn a_clock_put_forward_makes_no_room_where_another_tells_what_has_passed() {
    let bench = Bench::new().await;
    let tiers = [
        Tier::bucket(10, seconds(10), 10).unwrap(),
        Tier::fixed(10, seconds(10), Align::First).unwrap(),
        Tier::log(10, seconds(10), Duration::ZERO, false).unwrap(),
    ];
    let room_after_an_hour = [1, 0, 0];
    for (tier, expected) in tiers.into_iter().zip(room_after_an_hour) {
        let shown = tier.to_string();
        let pace = Plan::pace(vec![tier], shown.clone());
        let steps = [(NOON, Step::Room(&pace)), (NOON + 10 * SECOND, Step::Room(&pace))];
        assert_eq!(bench.run(&steps).await[1][0], 10);
        bench.run(&[(NOON + 10 * SECOND, Step::Spend(&pace)); 10]).await;
        let forward = NOON + 10 * SECOND + HOUR;
        let room = bench.run(&[(forward, Step::RoomWithinSecond(&pace)), (forward, Step::Room(&pace))]).await;
        assert_eq!((room[0][0], room[1][0]), (expected, 10), "{shown}");
    }
}

/// Nothing passes, so nothing is sent to Redis, which could say what time it is.
#[test]
fn a_local_decision_after_the_clock_was_put_back_waits_no_longer_than_before() {
    let tiers = [
        Tier::bucket(10, seconds(1), 10).unwrap(),
        Tier::gate(seconds(1)).unwrap(),
        Tier::fixed(10, seconds(1), Align::First).unwrap(),
        Tier::sliding(10, seconds(1)).unwrap(),
        Tier::log(10, seconds(1), Duration::ZERO, false).unwrap(),
    ];
    for tier in tiers {
        let shown = tier.to_string();
        let policy = policy(vec![tier]);
        let scope = plan(&policy, 1).scopes()[0].clone();
        let mut local = LocalScope::new(scope.phases(NOON));
        let mut passes = |now: u64| {
            local.advance(now, scope.phases(now));
            local.take(1, 0).passed
        };
        while passes(NOON) {}
        let back = NOON - HOUR;
        assert!(!passes(back), "{shown}");
        assert!(passes(back + 2 * SECOND), "{shown}");
        // And by what the measurement of the clock goes back, nobody gains a call.
        while passes(back + 2 * SECOND) {}
        assert!((0..100).all(|step| !passes(back + 2 * SECOND - step % 2 * 1000)), "{shown}");
    }
}

#[tokio::test]
async fn a_clock_that_is_known_wrongly_changes_no_window_of_the_calendar() {
    let bench = Bench::new().await;
    let month = Tier::calendar(1, Calendar::new(Unit::Month, "Europe/Berlin").unwrap()).unwrap();
    let plan = plan(&policy(vec![month]), 1);
    assert!(bench.decide_now(&plan).await.allowed);
    for days in [-100, 100] {
        let clock = Clock::new();
        clock.learn(clock.now_us().saturating_add_signed(days * 24 * HOUR.cast_signed()), Instant::now());
        let reply = redis_decide::decide(&bench.store, &clock, &plan, seconds(60)).await.unwrap();
        let wait = reply.verdicts[0].wait();
        assert!(
            wait > Wait::After(seconds(2)) && wait <= Wait::After(seconds((31 * 24 + 1) * 3_600)),
            "{days}: {wait:?}"
        );
    }
}

#[tokio::test]
async fn a_clock_that_is_known_wrongly_delays_no_decision_past_its_time() {
    let bench = Bench::new().await;
    let policy = policy(vec![Tier::fixed(10, seconds(86_400), Align::First).unwrap()]);
    for (at, known_us) in [(1, NOON - HOUR), (2, 4 * NOON)] {
        let clock = Clock::new();
        clock.learn(known_us, Instant::now());
        let reply = redis_decide::decide(&bench.store, &clock, &plan(&policy, 1), seconds(60)).await.unwrap();
        assert_eq!(reply.verdicts[0].tiers[0].1.calls, 10 - at, "charged once");
        assert!(clock.now_us().abs_diff(reply.now_us) < 60 * SECOND);
    }
}
