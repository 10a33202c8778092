//! The pace is refunded what it was charged for calls that weren't made, unless it may not contain that.

use dripfeed_bucket::*;
use dripfeed_store::ServerOptions;
use dripfeed_tests::buckets::{DELIVERED, changed, join, settle, take, take_one, takes_nothing};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::until;
use dripfeed_tests::wall_clock::WallClock;
use serde_json::{Value as Json, json};

use super::{paced, tiers, with_jobs};

/// Settings with a rate that is always enough for all jobs, and this quota.
fn limited(quota: Json) -> BucketSettings {
    paced(Some("1000/s"), 1000, tiers(json!([quota])))
}

fn three_a_year() -> BucketSettings {
    limited(json!({ "kind": "fixed", "limit": 3, "period": "366d" }))
}

/// How many calls the quota still allows.
async fn left(bucket: &Bucket) -> u64 {
    bucket.census().await.unwrap().pace.tokens.unwrap()
}

/// As after a permit that was too late.
async fn put_back(replica: &Replica, taken: ClaimedJob) {
    let unused = taken.permit.charge();
    assert!(unused.is_some());
    replica.settle_with(taken.claim, Settlement::Requeue, Feedback { unused, ..Feedback::default() }).await.unwrap();
}

#[tokio::test]
async fn a_quota_allows_as_many_calls_more_as_were_not_made() {
    for (kind, quota) in [
        (Kind::Stream, json!({ "kind": "fixed", "limit": 3, "period": "366d" })),
        (Kind::List, json!({ "kind": "fixed", "limit": 3, "period": "366d" })),
        (Kind::Stream, json!({ "kind": "fixed", "limit": 3, "period": "year", "align": "calendar(UTC)" })),
    ] {
        let redis = TestRedis::start().await;
        let shown = quota.to_string();
        let bucket = with_jobs(&redis, BucketSettings { kind, ..limited(quota) }, 5).await;
        let replica = join(&bucket, "a").await;
        let mut taken = take(&replica, 5).await;
        let made = taken.pop().unwrap();
        for unmade in taken {
            put_back(&replica, unmade).await;
        }
        assert_eq!(left(&bucket).await, 2, "{shown}");
        settle(&replica, made, DELIVERED).await;
        let taken = take(&replica, 5).await;
        assert_eq!(taken.len(), 2, "{shown}");
        for made in taken {
            settle(&replica, made, DELIVERED).await;
        }
        assert!(left(&bucket).await == 0 && takes_nothing(&replica).await, "{shown}");
        let census = bucket.census().await.unwrap();
        assert_eq!((census.level, census.in_flight), (2, 0), "{shown}");
    }
}

/// Except for what it may have drained since.
#[tokio::test]
async fn so_does_a_token_bucket_that_fills_up_slowly() {
    let bucket_of_a_day = json!([{ "kind": "bucket", "rate": "1000/d", "burst": 100 }]);
    for (rate, burst, more) in [("1000/d", 100, json!([])), ("1000/s", 1000, bucket_of_a_day)] {
        let redis = TestRedis::start().await;
        let bucket = with_jobs(&redis, paced(Some(rate), burst, tiers(more)), 100).await;
        let replica = join(&bucket, "a").await;
        let taken = take(&replica, 100).await;
        assert_eq!((taken.len(), left(&bucket).await), (100, 0), "{rate}");
        futures::future::join_all(taken.into_iter().map(|unmade| put_back(&replica, unmade))).await;
        let left = left(&bucket).await;
        assert!((95..100).contains(&left), "{rate}: {left} calls");
    }
}

/// It begins at the time of its first call, so what it was charged at that time isn't refunded.
#[tokio::test]
async fn so_does_a_window_that_begins_with_a_call() {
    let redis = TestRedis::start().await;
    let quota = json!({ "kind": "fixed", "limit": 100_000, "period": "366d", "align": "first" });
    let bucket = with_jobs(&redis, BucketSettings { capacity: 5, ..limited(quota) }, 2).await;
    let replica = join(&bucket, "a").await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    until("a charge is refunded", async || {
        let taken = take_one(&replica).await;
        let before: u64 = charged(&redis).await;
        put_back(&replica, taken).await;
        before - charged(&redis).await == 1
    })
    .await;
}

/// The count of the window, which is the last number of the state.
async fn charged(redis: &TestRedis) -> u64 {
    let state: Vec<u8> = redis.ask("GET dripfeed:{b}:pace:tiers").await;
    let mut count = [0; 8];
    count[..5].copy_from_slice(&state[state.len() - 5..]);
    u64::from_le_bytes(count)
}

#[tokio::test]
async fn nothing_is_refunded_where_it_may_not_have_been_charged() {
    let clock = WallClock::new();
    let options = ServerOptions { environment: clock.environment(), ..ServerOptions::default() };
    let redis = TestRedis::with(options).await;
    let bucket = with_jobs(&redis, three_a_year(), 3).await;
    let replica = join(&bucket, "a").await;
    let [first, second, third]: [ClaimedJob; 3] = take(&replica, 3).await.try_into().unwrap();

    bucket.apply_overrides(&changed("leak.concurrency", 7)).await.unwrap();
    put_back(&replica, first).await;
    assert_eq!(left(&bucket).await, 0, "the settings have changed");

    bucket.apply_overrides(&changed("leak.tiers", three_a_year().leak.tiers.written())).await.unwrap();
    redis.set_clock(&clock, 60).await;
    put_back(&replica, second).await;
    assert_eq!(left(&bucket).await, 0, "the clock was set");

    bucket.declare_dead(replica.consumer()).await.unwrap();
    put_back(&replica, third).await;
    assert_eq!(left(&bucket).await, 0, "the replica was declared dead");
}

#[tokio::test]
async fn nothing_is_refunded_that_redis_has_lost() {
    let options = ServerOptions { append_only: false, ..ServerOptions::default() };
    let mut redis = TestRedis::with(options).await;
    let bucket = with_jobs(&redis, three_a_year(), 3).await;
    let replica = join(&bucket, "a").await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    redis.ask::<()>("SAVE").await;
    let taken = take_one(&replica).await;

    redis.server.kill().await.unwrap();
    redis.server.start_again().await.unwrap();
    until("Redis can be reached again", async || bucket.census().await.is_ok()).await;
    assert_eq!(charged(&redis).await, 1);
    put_back(&replica, taken).await;
    assert_eq!(charged(&redis).await, 1);
}
