use std::time::Duration;

use crate::decide::plan::Plan;
use crate::{Align, Tier};

use super::per_second;
use crate::tests::bench::{Bench, NOON, SECOND, Step, seconds};

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
    let rooms: Vec<i64> = bench.run(&steps).await.into_iter().map(|reported| reported[0]).collect();
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
async fn calls_that_are_granted_ahead_begin_when_their_tokens_come() {
    const MS: i64 = 1_000_000;
    let bench = Bench::new().await;
    let spent = async |pace: &Plan, ms: u64| bench.run_one(NOON + ms * 1000, Step::SpendAhead(pace)).await;
    let bucket = |limit, burst| Tier::bucket(limit, seconds(1), burst).unwrap();

    let one = Plan::pace(vec![bucket(1000, 1)], "one".to_owned());
    // One at once, and one for each of the 20 ms that follow; those of 5 ms more 5 ms later.
    assert_eq!(spent(&one, 0).await, [21, 0, MS]);
    assert_eq!(spent(&one, 5).await, [5, 16 * MS, MS]);
    assert_eq!(spent(&one, 5).await, [0]);
    assert_eq!(spent(&one, 60_000).await, [21, 0, MS], "no more, however long nothing was called");

    let few = Plan::pace(vec![bucket(10, 5)], "few".to_owned());
    assert_eq!(spent(&few, 0).await, [5], "a burst begins at once");
    assert_eq!(spent(&few, 79).await, [0]);
    assert_eq!(spent(&few, 80).await, [1, 20 * MS, 100 * MS]);

    // Each bucket makes calls wait that the other one would let begin.
    let two = Plan::pace(vec![bucket(1000, 3), bucket(200, 4)], "two".to_owned());
    assert_eq!(spent(&two, 0).await, [8, -2 * MS, MS, -15 * MS, 5 * MS]);

    let window = Tier::fixed(100, seconds(1), Align::Epoch { spread: None }).unwrap();
    let within = Plan::pace(vec![bucket(1000, 1), window], "within".to_owned());
    assert_eq!(spent(&within, 980).await, [21, 0, MS]);
    assert_eq!(spent(&within, 995).await, [0], "they might begin in the next window");
    assert_eq!(spent(&within, 1000).await, [20, MS, MS]);
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
        let reported = bench.run_one(now, Step::Room(pace)).await;
        now += u64::try_from(reported[1]).unwrap();
        if reported[0] > 0 {
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
        let reported = bench.run_one(NOON, Step::Passing(&pace)).await;
        let real = passing_one_by_one(&bench, &pace, reported.len()).await;
        assert_eq!(reported[..10], real[..10], "{shown}");
        // Farther away never too early, and by at most a window too late.
        assert!(
            reported.iter().zip(&real).all(|(reported, real)| (0..=60_000_000).contains(&(reported - real))),
            "{shown} {reported:?}"
        );
    }
}

impl Bench {
    async fn run_one(&self, now: u64, step: Step<'_>) -> Vec<i64> {
        self.run(&[(now, step)]).await.remove(0)
    }
}
