//! The number of slots for a scaler: enough processors for the jobs that can be called, and no more than the rate
//! needs.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{StartTime, Submission};
use dripfeed_store::ServerOptions;
use dripfeed_tests::buckets::{self, DELIVERED, changed, job, join, open, settle, submit, take, take_one};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::wall_clock::WallClock;

async fn calls(bucket: &Bucket) -> u64 {
    bucket.slots().await.expect("Redis answers").calls
}

async fn submit_many(bucket: &Bucket, jobs: usize) {
    for _ in 0..jobs {
        submit(bucket, job("x")).await;
    }
}

#[tokio::test]
async fn waiting_jobs_and_jobs_in_flight_count() {
    for kind in [Kind::Stream, Kind::List] {
        let redis = TestRedis::start().await;
        let bucket = open(&redis, BucketSettings { kind, ..buckets::settings("b") }).await;
        assert_eq!(bucket.slots().await.expect("Redis answers"), Slots::default(), "{kind:?}");
        submit_many(&bucket, 21).await;
        assert_eq!(bucket.slots().await.expect("Redis answers"), Slots { calls: 21, replicas: 3 }, "{kind:?}");
        let replica = join(&bucket, "a").await;
        let taken = take(&replica, 5).await;
        assert_eq!(calls(&bucket).await, 21, "{kind:?}");
        for claimed in taken {
            settle(&replica, claimed, DELIVERED).await;
        }
        assert_eq!(calls(&bucket).await, 16, "{kind:?}");
    }
}

#[tokio::test]
async fn a_delayed_job_counts_when_it_is_due_soon() {
    let clock = WallClock::new();
    let options = ServerOptions { environment: clock.environment(), ..ServerOptions::default() };
    let redis = TestRedis::with(options).await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let replica = join(&bucket, "a").await;
    submit(&bucket, Submission { start: StartTime::After(Duration::from_mins(10)), ..job("x") }).await;
    // The first take parks the delayed job.
    assert!(buckets::takes_nothing(&replica).await);
    assert_eq!(calls(&bucket).await, 0);
    redis.set_clock(&clock, 9 * 60 + 45).await;
    assert_eq!(calls(&bucket).await, 1);
}

#[tokio::test]
async fn a_rate_asks_for_no_more_calls_than_it_can_start() {
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    settings.leak.rate = "20/s".parse().ok();
    settings.leak.burst = 5;
    let bucket = open(&redis, settings).await;
    submit_many(&bucket, 90).await;
    // Before any call was measured, one is assumed to last a second: 20 calls, and a fifth more.
    assert_eq!(calls(&bucket).await, 24);
    let mut saw = CallStats::default();
    (0..50).for_each(|_| saw.answered(Some(200), Duration::from_millis(250)));
    bucket.sample_history(&CallStats::default()).await.expect("Redis answers");
    bucket.sample_history(&saw).await.expect("Redis answers");
    let measured = bucket.slots().await.expect("Redis answers");
    assert!((6..=7).contains(&measured.calls) && measured.replicas == 1, "{measured:?}");
}

#[tokio::test]
async fn no_more_than_may_be_in_flight_is_asked_for() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    submit_many(&bucket, 90).await;
    bucket.apply_overrides(&changed("leak.max_in_flight", 30)).await.expect("Redis answers");
    bucket.apply_overrides(&changed("leak.concurrency", 15)).await.expect("Redis answers");
    assert_eq!(bucket.slots().await.expect("Redis answers"), Slots { calls: 30, replicas: 2 });
}

#[tokio::test]
async fn in_a_bucket_that_makes_no_calls_only_jobs_in_flight_count() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let replica = join(&bucket, "a").await;
    submit_many(&bucket, 9).await;
    let claimed = take_one(&replica).await;
    bucket.pause().await.expect("Redis answers");
    assert_eq!(calls(&bucket).await, 1);
    settle(&replica, claimed, DELIVERED).await;
    assert_eq!(calls(&bucket).await, 0);
    bucket.resume().await.expect("Redis answers");
    assert_eq!(calls(&bucket).await, 8);
}

#[tokio::test]
async fn most_of_all_buckets_is_the_most_of_one() {
    let redis = TestRedis::start().await;
    let few = open(&redis, buckets::settings("few")).await;
    let mut settings = buckets::settings("many");
    settings.leak.concurrency = 40;
    let many = open(&redis, settings).await;
    submit_many(&few, 21).await;
    submit_many(&many, 40).await;
    let most = Slots::max_of(vec![few, many]).await.expect("Redis answers");
    assert_eq!(most, Slots { calls: 40, replicas: 3 });
    assert_eq!(Slots::max_of(Vec::new()).await.expect("Redis answers"), Slots::default());
}

#[tokio::test]
async fn throttled_jobs_of_more_callers_than_one_script_looks_at_ask_for_no_calls() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, BucketSettings { capacity: 5000, ..buckets::settings("b") }).await;
    bucket.apply_overrides(&changed("fair.rate", "1/h")).await.expect("Redis answers");
    bucket.apply_overrides(&changed("fair.burst", 1)).await.expect("Redis answers");
    let of = |n: usize| Submission { caller: Some(format!("c{n}")), ..job("x") };
    for admission in bucket.admit_many((0..1800).map(|n| of(n % 900)).collect()).await {
        buckets::admitted(admission);
    }
    let replica = join(&bucket, "a").await;
    let mut called = 0;
    while called < 900 {
        let taken = take(&replica, 900 - called).await;
        called += taken.len();
        for claimed in taken {
            settle(&replica, claimed, DELIVERED).await;
        }
    }
    assert!(buckets::takes_nothing(&replica).await);
    assert_eq!(calls(&bucket).await, 0, "each of 900 has one job, and had its call of this hour");
}

#[tokio::test]
async fn a_rate_of_each_caller_asks_for_no_more_calls_than_it_can_start() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, BucketSettings { capacity: 1000, ..buckets::settings("b") }).await;
    for caller in ["a", "b"] {
        for _ in 0..200 {
            submit(&bucket, Submission { caller: Some(caller.to_owned()), ..job("x") }).await;
        }
    }
    bucket.apply_overrides(&changed("fair.rate", "10/s")).await.expect("Redis answers");
    // Before any call was measured, one is assumed to last a second.
    assert_eq!(calls(&bucket).await, 2 * 12);
    let replica = join(&bucket, "r").await;
    assert_eq!(take(&replica, 2).await.len(), 2);
    assert_eq!(calls(&bucket).await, 2 * 12, "what is in flight is among them");
    bucket.apply_overrides(&changed("fair.burst", 50)).await.expect("Redis answers");
    let with_burst = calls(&bucket).await;
    assert!((90..=102).contains(&with_burst), "as many may begin at once: {with_burst}");
    bucket.apply_overrides(&changed("fair.burst", 1)).await.expect("Redis answers");
    let mut saw = CallStats::default();
    (0..50).for_each(|_| saw.answered(Some(200), Duration::from_millis(45)));
    bucket.sample_history(&CallStats::default()).await.expect("Redis answers");
    bucket.sample_history(&saw).await.expect("Redis answers");
    // Each caller may have a call in flight, and a token for the next one.
    let measured = calls(&bucket).await;
    assert!((2..=4).contains(&measured), "{measured}");
}

#[tokio::test]
async fn jobs_that_wait_for_what_their_own_callers_may_ask_for_no_slot() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, BucketSettings { capacity: 1000, ..buckets::settings("b") }).await;
    let flows = serde_json::json!({
        "two": { "max_in_flight": 2 }, "paused": { "paused": true }, "slow": { "rate": "1/h", "burst": 3 },
        "tiered": { "rate": "1/s", "burst": 9, "tiers": [{ "rate": "1/h", "burst": 4 }] },
    });
    for caller in ["two", "paused", "slow", "tiered", "free"] {
        for _ in 0..10 {
            submit(&bucket, Submission { caller: Some(caller.to_owned()), ..job("x") }).await;
        }
    }
    assert_eq!(calls(&bucket).await, 50);
    bucket.apply_overrides(&changed("fair.flows", flows)).await.expect("Redis answers");
    assert_eq!(calls(&bucket).await, 2 + 3 + 4 + 10);
    // Each job in flight has a slot. No other job of those four callers can use one.
    let replica = join(&bucket, "a").await;
    assert_eq!(take(&replica, 19).await.len(), 19);
    assert_eq!(calls(&bucket).await, 19);
    bucket.apply_overrides(&changed("fair.flows", serde_json::json!({}))).await.expect("Redis answers");
    assert_eq!(calls(&bucket).await, 50);
}
