//! Steps of the Redis clock, and lost state.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_store::ServerOptions;
use dripfeed_tests::buckets::{join, takes_nothing};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::until;
use dripfeed_tests::wall_clock::WallClock;
use serde_json::json;

use super::{flood, open, take_all};

#[tokio::test]
async fn a_clock_that_is_set_makes_no_burst() {
    let clock = WallClock::new();
    let options = ServerOptions { environment: clock.environment(), ..ServerOptions::default() };
    let redis = TestRedis::with(options).await;
    let bucket = open(&redis, &[("fair.rate", json!("1/h")), ("fair.burst", json!(5))]).await;
    let [one, other] = [join(&bucket, "one").await, join(&bucket, "other").await];
    flood(&bucket, "a", 50).await;
    assert_eq!(take_all(&one).await.len(), 5);
    for ahead in [3600, 86_400, 0, -3600, 1_000_000] {
        redis.set_clock(&clock, ahead).await;
        assert!(takes_nothing(&one).await, "called with the clock at {ahead} s");
        assert!(takes_nothing(&other).await, "called with the clock at {ahead} s");
        let new = join(&bucket, &format!("new at {ahead}")).await;
        assert!(takes_nothing(&new).await, "called with the clock at {ahead} s");
    }
}

#[tokio::test]
async fn one_that_is_put_forward_gives_nothing_again_that_others_have_used() {
    let clock = WallClock::new();
    let options = ServerOptions { environment: clock.environment(), ..ServerOptions::default() };
    let redis = TestRedis::with(options).await;
    let bucket = open(&redis, &[("fair.rate", json!("1/s"))]).await;
    let [one, other] = [join(&bucket, "one").await, join(&bucket, "other").await];
    flood(&bucket, "a", 50).await;
    assert_eq!(take_all(&other).await.len(), 1);
    assert!(takes_nothing(&one).await);
    until("a token", async || !takes_nothing(&other).await).await;
    redis.set_clock(&clock, 3600).await;
    assert!(takes_nothing(&one).await);
}

#[tokio::test]
async fn a_clock_that_is_put_back_makes_no_stall() {
    let clock = WallClock::new();
    let options = ServerOptions { environment: clock.environment(), ..ServerOptions::default() };
    let redis = TestRedis::with(options).await;
    let bucket = open(&redis, &[("fair.rate", json!("20/s"))]).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", 50).await;
    assert!(!takes_nothing(&replica).await);
    redis.set_clock(&clock, -86_400).await;
    until("a token", async || !takes_nothing(&replica).await).await;
}

#[tokio::test]
async fn what_was_lost_grants_nothing() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.rate", json!("1/h")), ("fair.burst", json!(5))]).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", 50).await;
    assert_eq!(take_all(&replica).await.len(), 5);
    for lost in ["flow-state", "throttled", "flows", "ranges"] {
        assert_eq!(redis.ask::<u64>(&format!("DEL dripfeed:{{b}}:{lost}")).await, u64::from(lost != "flows"), "{lost}");
        assert!(take_all(&replica).await.is_empty(), "{lost}");
        let other = join(&bucket, lost).await;
        assert!(take_all(&other).await.is_empty(), "{lost}");
    }
    redis.ask::<String>("FLUSHALL").await;
    bucket.apply_overrides(&dripfeed_tests::buckets::changed("fair.rate", "1/h")).await.unwrap();
    flood(&bucket, "a", 50).await;
    let again = bucket.join(Consumer::new("again"), Duration::from_mins(1), JoinKind::Rejoin).await.unwrap();
    assert!(take_all(&again).await.is_empty());
}
