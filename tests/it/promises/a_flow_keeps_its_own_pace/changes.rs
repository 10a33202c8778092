//! Changes at run time apply to queued jobs and to those in flight.

use dripfeed_tests::buckets::{DELIVERED, changed, join, settle, takes_nothing};
use dripfeed_tests::redis_server::TestRedis;
use serde_json::{Value as Json, json};

use super::{count, counts, flood, open, pop, take_all};

#[tokio::test]
async fn calls_that_were_under_way_before_are_counted() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[]).await;
    let [one, other] = [join(&bucket, "one").await, join(&bucket, "other").await];
    flood(&bucket, "a", 300).await;
    let mut taken = take_all(&one).await;
    assert_eq!(taken.len(), 300);
    flood(&bucket, "a", 10).await;
    flood(&bucket, "b", 10).await;
    bucket.apply_overrides(&changed("fair.max_in_flight", 299)).await.unwrap();
    assert_eq!(count(&take_all(&other).await), counts([("b", 10)]));
    settle(&one, taken.remove(0), DELIVERED).await;
    assert!(takes_nothing(&other).await);
    settle(&one, taken.remove(0), DELIVERED).await;
    assert_eq!(count(&take_all(&other).await), counts([("a", 1)]));
}

#[tokio::test]
async fn without_such_a_setting_nothing_is_left_of_it() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.max_in_flight", json!(1))]).await;
    let replica = join(&bucket, "one").await;
    for caller in ["a", "b", "c"] {
        flood(&bucket, caller, 3).await;
    }
    let mut taken = take_all(&replica).await;
    assert_eq!(count(&taken), counts([("a", 1), ("b", 1), ("c", 1)]));
    bucket.apply_overrides(&changed("fair.max_in_flight", Json::Null)).await.unwrap();
    taken.extend(take_all(&replica).await);
    assert_eq!(count(&taken), counts([("a", 3), ("b", 3), ("c", 3)]));
    assert_eq!(redis.ask::<u64>("EXISTS dripfeed:{b}:throttled dripfeed:{b}:flow-state").await, 0);
    assert_eq!(redis.ask::<u64>("HEXISTS dripfeed:{b}:pace flows").await, 0);
}

#[tokio::test]
async fn one_may_be_called_without_the_limits_of_each() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.rate", json!("1/h")), ("fair.max_in_flight", json!(1))]).await;
    let replica = join(&bucket, "one").await;
    for caller in ["a", "b"] {
        flood(&bucket, caller, 5).await;
    }
    let mut taken = take_all(&replica).await;
    assert_eq!(count(&taken), counts([("a", 1), ("b", 1)]));
    let free = json!({ "a": { "rate": "none", "max_in_flight": "none" } });
    bucket.apply_overrides(&changed("fair.flows", free)).await.unwrap();
    taken.extend(take_all(&replica).await);
    assert_eq!(count(&taken), counts([("a", 5), ("b", 1)]));
}

#[tokio::test]
async fn in_one_line_nobody_is_bounded_and_in_turns_again_everybody_is() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.max_in_flight", json!(2))]).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", 10).await;
    let mut taken = take_all(&replica).await;
    assert_eq!(taken.len(), 2);
    bucket.apply_overrides(&changed("fair.by", "off")).await.unwrap();
    taken.extend(take_all(&replica).await);
    assert_eq!(taken.len(), 10);
    flood(&bucket, "a", 10).await;
    bucket.apply_overrides(&changed("fair.by", "caller")).await.unwrap();
    for _ in 0..8 {
        assert!(takes_nothing(&replica).await);
        settle(&replica, pop(&mut taken, "a"), DELIVERED).await;
    }
    assert!(takes_nothing(&replica).await);
    settle(&replica, pop(&mut taken, "a"), DELIVERED).await;
    assert_eq!(take_all(&replica).await.len(), 1);
}

#[tokio::test]
async fn another_rate_holds_at_once_and_gives_no_second_burst() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.rate", json!("1/h")), ("fair.burst", json!(5))]).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", 50).await;
    assert_eq!(take_all(&replica).await.len(), 5);
    bucket.apply_overrides(&changed("fair.rate", "2/366d")).await.unwrap();
    assert!(takes_nothing(&replica).await);
    bucket.apply_overrides(&changed("fair.burst", 7)).await.unwrap();
    assert_eq!(take_all(&replica).await.len(), 2);
    bucket.apply_overrides(&changed("fair.flows", json!({ "b": { "burst": 50 } }))).await.unwrap();
    assert!(takes_nothing(&replica).await);
    bucket.apply_overrides(&changed("fair.flows", json!({ "a": { "burst": 10 } }))).await.unwrap();
    assert_eq!(take_all(&replica).await.len(), 3);
    bucket.apply_overrides(&changed("fair.rate", Json::Null)).await.unwrap();
    assert_eq!(take_all(&replica).await.len(), 40);
}
