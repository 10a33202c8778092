//! All jobs that may be called are called, whichever key of the index somebody deletes.

use dripfeed_bucket::*;
use dripfeed_tests::buckets::{DELIVERED, changed, join, settle, take, take_one};
use dripfeed_tests::redis_server::TestRedis;
use serde_json::json;

use super::{count, counts, flood, open, pop, take_all};

#[tokio::test]
async fn without_the_key_of_those_who_wait_nobody_is_forgotten_beside_one_that_is_paused() {
    let redis = TestRedis::start().await;
    let paused = json!({ "paused": { "paused": true } });
    let bucket = open(&redis, &[("fair.flows", paused), ("fair.max_in_flight", json!(2))]).await;
    let replica = join(&bucket, "one").await;
    for caller in ["paused", "a", "b"] {
        flood(&bucket, caller, 5).await;
    }
    // `a` and `b` have as many calls in flight as they may. They queue again when the next one ends.
    let mut taken = take_all(&replica).await;
    assert_eq!(count(&taken), counts([("a", 2), ("b", 2)]));
    bucket.apply_overrides(&changed("fair.max_in_flight", 100)).await.unwrap();
    let first = take_one(&replica).await;
    assert_eq!(redis.ask::<u64>("DEL dripfeed:{b}:flows").await, 1);
    // A new caller creates the deleted key again, in which the others must be as well.
    flood(&bucket, "c", 2).await;
    taken.push(first);
    taken.extend(take_all(&replica).await);
    assert_eq!(count(&taken), counts([("a", 5), ("b", 5), ("c", 2)]));
    settle(&replica, pop(&mut taken, "a"), DELIVERED).await;
}

/// `a` and `b` have a call in flight and are throttled, `c` has many jobs left, and the key of throttled callers is
/// deleted.
async fn beside_one_who_waits(redis: &TestRedis) -> (Bucket, Replica, Vec<ClaimedJob>) {
    let one = json!({ "max_in_flight": 1 });
    let bucket = open(redis, &[("fair.flows", json!({ "a": one, "b": one }))]).await;
    let replica = join(&bucket, "one").await;
    for (caller, jobs) in [("a", 2), ("b", 2), ("c", 90)] {
        flood(&bucket, caller, jobs).await;
    }
    let taken = take(&replica, 5).await;
    assert_eq!(count(&taken), counts([("a", 1), ("b", 1), ("c", 3)]));
    assert_eq!(redis.ask::<u64>("DEL dripfeed:{b}:throttled").await, 1);
    (bucket, replica, taken)
}

#[tokio::test]
async fn without_the_key_of_those_who_are_throttled_each_comes_back_while_others_wait() {
    let redis = TestRedis::start().await;
    let (_bucket, replica, mut taken) = beside_one_who_waits(&redis).await;
    settle(&replica, pop(&mut taken, "a"), DELIVERED).await;
    let mut more = Vec::new();
    for _ in 0..10 {
        more.extend(take(&replica, 4).await);
    }
    assert_eq!(count(&more), counts([("a", 1), ("c", 39)]));
}

#[tokio::test]
async fn where_nobody_is_bounded_any_more_nobody_who_was_throttled_is_forgotten() {
    let redis = TestRedis::start().await;
    let (bucket, replica, _) = beside_one_who_waits(&redis).await;
    bucket.apply_overrides(&changed("fair.flows", json!({}))).await.unwrap();
    let mut more = Vec::new();
    for _ in 0..10 {
        more.extend(take(&replica, 4).await);
    }
    assert_eq!(count(&more), counts([("a", 1), ("b", 1), ("c", 38)]));
}

/// A caller that queues again creates the deleted key again, which then doesn't look deleted any more.
#[tokio::test]
async fn where_nobody_is_bounded_any_more_nobody_who_waited_is_forgotten_beside_those_who_come_back() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.flows", json!({ "a": { "max_in_flight": 1 } }))]).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", 90).await;
    flood(&bucket, "c", 90).await;
    assert_eq!(count(&take(&replica, 4).await), counts([("a", 1), ("c", 3)]));
    assert_eq!(redis.ask::<u64>("DEL dripfeed:{b}:flows").await, 1);
    bucket.apply_overrides(&changed("fair.flows", json!({}))).await.unwrap();
    let mut more = Vec::new();
    while more.len() < 40 {
        more.extend(take(&replica, 4).await);
    }
    let of_c = count(&more).get("c").copied().unwrap_or_default();
    assert!(of_c >= 16, "{of_c} of {}", more.len());
}

#[tokio::test]
async fn one_who_came_since_the_last_take_is_not_forgotten_with_the_key_either() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.max_in_flight", json!(1))]).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", 3).await;
    // All that is left is throttled.
    assert_eq!(count(&take_all(&replica).await), counts([("a", 1)]));
    flood(&bucket, "b", 1).await;
    assert_eq!(redis.ask::<u64>("DEL dripfeed:{b}:flows").await, 1);
    assert_eq!(count(&take_all(&replica).await), counts([("b", 1)]));
}

#[tokio::test]
async fn what_was_added_by_hand_meanwhile_hides_nothing_of_the_same_caller() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.flows", json!({ "paused": { "paused": true } }))]).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", 5).await;
    flood(&bucket, "paused", 1).await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    assert_eq!(redis.ask::<u64>("DEL dripfeed:{b}:throttled").await, 1);
    redis.ask::<String>("XADD dripfeed:{b}:jobs * body by-hand caller a").await;
    assert_eq!(count(&take_all(&replica).await), counts([("a", 5)]));
}
