//! The history of a bucket: no job is counted twice, with any number of sampling processes and steps of the clock, and
//! its size is bounded.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::Ending;
use dripfeed_store::ServerOptions;
use dripfeed_tests::buckets::{self, DELIVERED, buried, job, join, open, settle, submit, take_one};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::wall_clock::WallClock;

const KEY: &str = "dripfeed:{b}:history";

/// A Redis whose clock a test sets.
async fn redis_and_clock() -> (TestRedis, WallClock) {
    let clock = WallClock::new();
    let options = ServerOptions { environment: clock.environment(), ..ServerOptions::default() };
    (TestRedis::with(options).await, clock)
}

async fn sample(bucket: &Bucket, saw: &CallStats) {
    bucket.sample_history(saw).await.expect("Redis answers");
}

async fn slots(bucket: &Bucket, window: HistoryWindow) -> Vec<HistorySlot> {
    bucket.history(window).await.expect("Redis answers").slots
}

fn one_call(took: Duration) -> CallStats {
    let mut calls = CallStats::default();
    calls.answered(Some(200), took);
    calls
}

#[tokio::test]
async fn concurrent_samples_count_each_job_and_call_once() {
    let (redis, clock) = redis_and_clock().await;
    let (one, other) = (open(&redis, buckets::settings("b")).await, open(&redis, buckets::settings("b")).await);
    let (nothing, call) = (CallStats::default(), one_call(Duration::from_millis(100)));
    tokio::join!(sample(&one, &nothing), sample(&other, &nothing));
    for second in 1..=20 {
        redis.set_clock(&clock, second).await;
        submit(&one, job("1")).await;
        submit(&other, job("2")).await;
        tokio::join!(sample(&one, &call), sample(&other, &call), sample(&one, &nothing));
    }
    for window in HistoryWindow::ALL {
        let slots = slots(&one, window).await;
        let accepted: u64 = slots.iter().map(|slot| slot.accepted).sum();
        let answers: u64 = slots.iter().map(|slot| slot.answers[0]).sum();
        assert_eq!((accepted, answers), (40, 40), "{window:?}: {slots:?}");
        let last = slots.last().expect("a slot");
        assert_eq!((last.waiting, last.in_flight, last.capacity), (40, 0, 100));
        let call = last.attempt.expect("calls");
        assert!((95..=105).contains(&call.p50) && call.p50 == call.p99, "{call:?}");
    }
    assert!(slots(&one, HistoryWindow::FiveMinutes).await.len() >= 4);
}

/// A replica that joins for the first jobs of a bucket has never sampled it before.
#[tokio::test]
async fn the_first_sample_counts_the_jobs_that_made_somebody_sample() {
    for kind in [Kind::Stream, Kind::List] {
        let (redis, clock) = redis_and_clock().await;
        let bucket = open(&redis, BucketSettings { kind, ..buckets::settings("b") }).await;
        let sums = async || {
            let sampling = open(&redis, BucketSettings { kind, ..buckets::settings("b") }).await;
            sample(&sampling, &one_call(Duration::ZERO)).await;
            let slots = slots(&sampling, HistoryWindow::Hour).await;
            slots.iter().fold((0, 0), |sum, slot| (sum.0 + slot.accepted, sum.1 + slot.delivered))
        };
        let replica = join(&bucket, "a").await;
        for _ in 0..5 {
            submit(&bucket, job("x")).await;
        }
        settle(&replica, take_one(&replica).await, DELIVERED).await;
        assert_eq!(sums().await, (5, 1), "{kind:?}");
        redis.set_clock(&clock, 2).await;
        assert_eq!(sums().await, (5, 1), "{kind:?}: none is counted again");

        // As after a day without samples: the earlier jobs aren't counted.
        redis.set_clock(&clock, 600).await;
        redis.ask::<()>(&format!("DEL {KEY}")).await;
        submit(&bucket, job("y")).await;
        assert_eq!(sums().await, (1, 0), "{kind:?}");
    }
}

#[tokio::test]
async fn a_sample_has_what_the_bucket_is_at() {
    for kind in [Kind::Stream, Kind::List] {
        let (redis, clock) = redis_and_clock().await;
        let mut settings = BucketSettings { kind, ..buckets::settings("b") };
        settings.leak.rate = "2/s".parse().ok();
        settings.leak.burst = 10;
        let bucket = open(&redis, settings).await;
        sample(&bucket, &CallStats::default()).await;
        let replica = join(&bucket, "a").await;
        for body in ["delivered", "called", "waits"] {
            submit(&bucket, job(body)).await;
        }
        settle(&replica, take_one(&replica).await, DELIVERED).await;
        let _called = take_one(&replica).await;
        redis.set_clock(&clock, 10).await;
        sample(&bucket, &CallStats::default()).await;
        let slot = slots(&bucket, HistoryWindow::FiveMinutes).await.pop().expect("a slot");
        assert_eq!((slot.accepted, slot.delivered, slot.waiting, slot.in_flight), (3, 1, 1, 1), "{kind:?}");
        assert_eq!((slot.target_per_s, slot.effective_per_s), (Some(2.0), Some(2.0)), "{kind:?}");
        bucket.pause().await.unwrap();
        redis.set_clock(&clock, 20).await;
        sample(&bucket, &CallStats::default()).await;
        let slot = slots(&bucket, HistoryWindow::FiveMinutes).await.pop().expect("a slot");
        assert_eq!((slot.accepted, slot.effective_per_s), (0, Some(0.0)), "{kind:?}");
    }
}

#[tokio::test]
async fn the_rate_in_force_is_zero_while_full_dead_letters_or_a_full_outbox_stop_the_bucket() {
    let (redis, clock) = redis_and_clock().await;
    let mut holding = buckets::settings("b");
    holding.leak.rate = "2/s".parse().ok();
    let mut sending = BucketSettings { name: "c".parse().expect("a name"), ..holding.clone() };
    (holding.keep.when_dead_full, holding.keep.most_dead) = (WhenDeadFull::Hold, 1);
    let target = OutcomeTarget { bucket: "other".parse().expect("a name"), outcomes: vec![Ending::Dead] };
    sending.on_outcome = OnOutcome { targets: vec![target], most: 1, bytes: 1 << 20 };
    for (settings, reason) in [(holding, "dead_full"), (sending, "outbox_full")] {
        let bucket = open(&redis, settings).await;
        let rate = async |second| {
            clock.set_ahead(second);
            sample(&bucket, &CallStats::default()).await;
            slots(&bucket, HistoryWindow::FiveMinutes).await.pop().expect("a slot").effective_per_s
        };
        let replica = join(&bucket, "a").await;
        submit(&bucket, job("x")).await;
        assert_eq!(rate(0).await, Some(2.0), "{reason}");
        settle(&replica, take_one(&replica).await, buried("no luck")).await;
        let pace = bucket.census().await.unwrap().pace;
        assert_eq!((pace.reason, pace.effective_per_s), (reason, Some(0.0)));
        assert_eq!(rate(10).await, Some(0.0), "{reason}");
        clock.set_ahead(0);
    }
}

#[tokio::test]
async fn a_bucket_in_which_nothing_happens_writes_nothing() {
    let (redis, clock) = redis_and_clock().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    for second in 0..3 {
        redis.set_clock(&clock, second).await;
        sample(&bucket, &CallStats::default()).await;
    }
    assert_eq!(redis.ask::<u64>(&format!("EXISTS {KEY}")).await, 0);
    submit(&bucket, job("x")).await;
    redis.set_clock(&clock, 10).await;
    sample(&bucket, &CallStats::default()).await;
    assert!(redis.ask::<u64>(&format!("PTTL {KEY}")).await > 0);
    let writes = redis.calls("hset").await;
    for second in 11..20 {
        redis.set_clock(&clock, second).await;
        sample(&bucket, &CallStats::default()).await;
    }
    assert_eq!(redis.calls("hset").await, writes);
    assert_eq!(slots(&bucket, HistoryWindow::Day).await[0].accepted, 1);
}

#[tokio::test]
async fn a_clock_that_is_set_counts_nothing_twice_and_leaves_nothing_ahead() {
    let (redis, clock) = redis_and_clock().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    sample(&bucket, &CallStats::default()).await;
    for ahead in [1, 86_400, 3, -3600, -86_400 * 400, 5, 7200, 0] {
        redis.set_clock(&clock, ahead).await;
        submit(&bucket, job("x")).await;
        sample(&bucket, &one_call(Duration::ZERO)).await;
        for window in HistoryWindow::ALL {
            let History { from_ms, to_ms, slots, .. } = bucket.history(window).await.unwrap();
            assert!(slots.iter().all(|slot| (from_ms..=to_ms).contains(&slot.at_ms)), "{ahead}: {slots:?}");
            let last = slots.last().expect("the slot of now");
            assert!((1..=8).contains(&last.accepted) && last.answers[0] >= 1, "{ahead}: {slots:?}");
            assert!(slots.iter().map(|slot| slot.accepted).sum::<u64>() <= 8, "{ahead}: {slots:?}");
        }
    }
}

#[tokio::test]
async fn at_maxmemory_history_is_lost_and_work_goes_on() {
    let (redis, clock) = redis_and_clock().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let replica = join(&bucket, "a").await;
    sample(&bucket, &CallStats::default()).await;
    for _ in 0..5 {
        submit(&bucket, job("x")).await;
    }
    redis.set_clock(&clock, 10).await;
    sample(&bucket, &CallStats::default()).await;
    redis.ask::<()>("CONFIG SET maxmemory 1").await;
    for second in 0..4 {
        settle(&replica, take_one(&replica).await, DELIVERED).await;
        redis.set_clock(&clock, 20 + second).await;
        sample(&bucket, &one_call(Duration::ZERO)).await;
    }
    redis.ask::<()>("CONFIG SET maxmemory 0").await;
    redis.set_clock(&clock, 30).await;
    sample(&bucket, &CallStats::default()).await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    redis.set_clock(&clock, 40).await;
    sample(&bucket, &CallStats::default()).await;
    let slots = slots(&bucket, HistoryWindow::Hour).await;
    let sum = |count: fn(&HistorySlot) -> u64| slots.iter().map(count).sum::<u64>();
    // Jobs that ended meanwhile aren't counted in a later slot.
    assert_eq!((sum(|slot| slot.accepted), sum(|slot| slot.delivered)), (5, 1), "{slots:?}");
}

/// Calls with the maximum number of digits and ranges.
fn calls_of_all_lengths() -> CallStats {
    let mut calls = CallStats::default();
    for range in 0..200 {
        let took = Duration::from_secs_f64(0.001 * (0.1 * f64::from(range)).exp());
        calls.waited(took);
        calls.answered(Some(503), took);
        calls.delivered(took);
    }
    calls
}

#[tokio::test]
async fn a_day_of_everything_takes_no_more_than_64_kib() {
    let (redis, clock) = redis_and_clock().await;
    let (store, bucket) = (redis.store().await, open(&redis, buckets::settings("b")).await);
    let calls = calls_of_all_lengths();
    sample(&bucket, &calls).await;
    // More than one sample per slot, because the samples take some time, too.
    let day = (50..=24 * 3600).step_by(50);
    let last_minutes = (1..=75).map(|step| 24 * 3600 + step * 4);
    for second in day.chain(last_minutes) {
        clock.set_for(&store, second).await;
        let mut counted = redis::pipe();
        for field in ["accepted", "refused:bucket_full", "delivered", "dead", "expired", "cancelled"] {
            counted.hincr("dripfeed:{b}:tally", field, 1_200_000).ignore();
        }
        store.pipeline::<()>(&counted).await.unwrap();
        sample(&bucket, &calls).await;
    }
    let bytes: u64 = redis.ask(&format!("MEMORY USAGE {KEY} SAMPLES 0")).await;
    let fields: u64 = redis.ask(&format!("HLEN {KEY}")).await;
    // All slots of each window, the open slots, and the last sample.
    assert_eq!(fields, 60 + 60 + 96 + 3 + 1);
    assert!(bytes <= 64 << 10, "{bytes} bytes");
    for window in HistoryWindow::ALL {
        assert!(slots(&bucket, window).await.len() as u64 >= window.slots() - 1, "{window:?}");
    }
}

#[tokio::test]
async fn large_numbers_are_sampled_as_small_ones_are() {
    const CAPACITY: u64 = 123_456_789_012_345_678;
    let (redis, clock) = redis_and_clock().await;
    let settings = || BucketSettings { capacity: CAPACITY, ..buckets::settings("b") };
    let bucket = open(&redis, settings()).await;
    for second in 1..=3 {
        redis.set_clock(&clock, 2 * second).await;
        submit(&bucket, job("x")).await;
        sample(&bucket, &CallStats::default()).await;
    }
    let slots = slots(&open(&redis, settings()).await, HistoryWindow::FiveMinutes).await;
    let accepted: u64 = slots.iter().map(|slot| slot.accepted).sum();
    // Lua has no exact numbers above 2^53.
    let capacity = slots.last().expect("a slot").capacity;
    assert!(accepted == 3 && capacity.abs_diff(CAPACITY) < 100, "{slots:?}");
}
