//! Changes of settings at run time apply at once in all processes, without extra queries.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_store::{Durability, Store};
use dripfeed_tests::buckets::{self, admitted, changed, job, join, open, refused, submit, take, takes_nothing};
use dripfeed_tests::proxy::{Behind, Proxy};
use dripfeed_tests::redis_server::{TestRedis, patient};
use dripfeed_tests::torture::breakpoint::Breakpoints;
use serde_json::Value;

#[tokio::test]
async fn a_change_holds_for_those_who_have_not_heard_of_it() {
    let redis = TestRedis::start().await;
    let (operator, intake) = (open(&redis, buckets::settings("b")).await, open(&redis, buckets::settings("b")).await);
    submit(&intake, job("1")).await;
    operator.apply_overrides(&changed("capacity", 2)).await.unwrap();
    assert_eq!(submit(&intake, job("2")).await.capacity, 2);
    assert_eq!(refused(intake.admit(job("3")).await).reason, RefusalReason::BucketFull);

    let replica = join(&open(&redis, buckets::settings("b")).await, "a").await;
    let slow = changed("leak.rate", "1/366d").and(changed("leak.concurrency", 7));
    operator.apply_overrides(&slow).await.unwrap();
    // A new pace begins with its burst.
    assert_eq!(take(&replica, 2).await.len(), 1);
    assert!(takes_nothing(&replica).await);
    assert_eq!(replica.concurrency(), 7);
    let back = changed("leak.rate", Value::Null).and(changed("leak.concurrency", Value::Null));
    operator.apply_overrides(&back).await.unwrap();
    assert_eq!(take(&replica, 2).await.len(), 1);
    assert_eq!(replica.concurrency(), 10);
}

#[tokio::test]
async fn a_change_costs_each_one_call_more_and_then_none() {
    let redis = TestRedis::start().await;
    let operator = open(&redis, buckets::settings("b")).await;
    let others = [open(&redis, buckets::settings("b")).await, open(&redis, buckets::settings("b")).await];
    for others_know in [false, true] {
        for bucket in &others {
            submit(bucket, job("before")).await;
        }
        if !others_know {
            operator.apply_overrides(&changed("capacity", 50)).await.unwrap();
        }
        for bucket in &others {
            let before = redis.calls("evalsha").await;
            assert_eq!(submit(bucket, job("after")).await.capacity, 50);
            assert_eq!(redis.calls("evalsha").await - before, if others_know { 1 } else { 2 });
        }
    }
}

/// As in a suspended process: the reply is later than the time for which a lost submission is repeated.
#[tokio::test]
async fn a_submission_that_hears_of_a_change_late_is_judged_by_it() {
    const LATE: Duration = Duration::from_millis(1500);
    let redis = TestRedis::start().await;
    let operator = open(&redis, buckets::settings("b")).await;
    let socket = redis.folder().join("redis.sock");
    let proxy = Proxy::before(Behind::Redis { socket, breakpoints: Breakpoints::default() }).await;
    let url = format!("redis://{}", proxy.address).parse().unwrap();
    let intake =
        Bucket::new(Store::connect(&patient(url, Durability::Everysec)).await.unwrap(), buckets::settings("b"));
    submit(&intake, job("1")).await;
    operator.apply_overrides(&changed("capacity", 50)).await.unwrap();
    proxy.links().iter().for_each(|link| link.delay_replies(LATE));
    assert_eq!(submit(&intake, job("2")).await.capacity, 50);
}

#[tokio::test]
async fn overrides_survive_a_reload_and_can_be_set_again_after_redis_lost_them() {
    let redis = TestRedis::start().await;
    let (operator, intake) = (open(&redis, buckets::settings("b")).await, open(&redis, buckets::settings("b")).await);
    operator.apply_overrides(&changed("capacity", 2)).await.unwrap();
    assert_eq!(submit(&intake, job("1")).await.capacity, 2);
    // The change at run time takes precedence over the new configuration. Other settings are as configured now.
    let configured = BucketSettings { capacity: 30, capacity_bytes: 9000, ..buckets::settings("b") };
    intake.reconfigure(configured);
    assert_eq!(submit(&intake, job("2")).await.capacity, 2);
    assert_eq!(intake.census().await.unwrap().capacity_bytes, 9000);
    redis.store().await.command::<()>(&redis::cmd("FLUSHALL")).await.unwrap();
    assert_eq!(submit(&intake, job("3")).await.capacity, 30);
    // The same change is made again after Redis has lost the first one.
    operator.apply_overrides(&changed("capacity", 2)).await.unwrap();
    assert_eq!(admitted(intake.admit(job("4")).await).capacity, 2);
}

#[tokio::test]
async fn a_deleted_bucket_and_one_of_its_name_are_not_changed() {
    let redis = TestRedis::start().await;
    let deleted = Bucket::defined(redis.store().await, buckets::settings("b"), 7);
    redis.ask::<u64>("HSET dripfeed:{b}:control incarnation 7 closed 1 version x").await;
    redis.ask::<u64>("PEXPIRE dripfeed:{b}:control 60000").await;
    assert!(matches!(deleted.pause().await, Err(BucketError::Gone)));
    assert!(redis.ask::<i64>("PTTL dripfeed:{b}:control").await > 0, "it goes with the rest");
    redis.ask::<u64>("HSET dripfeed:{b}:control incarnation 8 closed 0 version y").await;
    assert!(matches!(deleted.apply_overrides(&changed("capacity", 2)).await, Err(BucketError::Gone)));
    let created_again = redis.ask::<Vec<String>>("HKEYS dripfeed:{b}:control").await;
    assert_eq!(created_again, ["incarnation", "closed", "version"]);
}
