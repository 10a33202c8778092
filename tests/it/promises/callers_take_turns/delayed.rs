//! A delayed job isn't called before its time, whatever is submitted after it.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{Priority, StartTime, Submission};
use dripfeed_tests::buckets::{changed, join, submit, takes_nothing};
use dripfeed_tests::redis_server::TestRedis;

use super::{call, flood, of, open};

fn later(caller: &str) -> Submission {
    Submission { start: StartTime::After(Duration::from_hours(1)), ..of(caller, "later") }
}

fn high(caller: &str) -> Submission {
    Submission { priority: Some(Priority::High), ..of(caller, "high") }
}

/// Calls all `jobs` that may be called now, and checks that only the delayed ones are left.
async fn calls_all_but_the_delayed(bucket: &Bucket, jobs: usize, delayed: u64) {
    let replica = join(bucket, "one").await;
    let called = call(&replica, 10, jobs).await;
    assert!(called.iter().all(|(_, body)| body != "later"), "{called:?}");
    assert!(takes_nothing(&replica).await);
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.parked), (delayed, delayed));
    assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());
}

#[tokio::test]
async fn in_a_batch_before_one_with_a_priority() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let mut batch = vec![later("a"); 99];
    batch.push(high("a"));
    assert!(bucket.admit_many(batch).await.iter().all(Result::is_ok));
    calls_all_but_the_delayed(&bucket, 1, 99).await;
}

#[tokio::test]
async fn in_a_batch_before_one_of_another_caller() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let mut batch = vec![of("a", "now"), later("a")];
    batch.extend(vec![of("a", "now"); 98]);
    batch.push(of("b", "now"));
    assert!(bucket.admit_many(batch).await.iter().all(Result::is_ok));
    calls_all_but_the_delayed(&bucket, 100, 1).await;
}

#[tokio::test]
async fn in_a_bucket_from_which_nobody_takes() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    flood(&bucket, "a", 50).await;
    submit(&bucket, later("a")).await;
    submit(&bucket, high("a")).await;
    calls_all_but_the_delayed(&bucket, 51, 1).await;
}

#[tokio::test]
async fn that_came_when_nobody_took_turns() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    bucket.apply_overrides(&changed("fair.by", "off")).await.unwrap();
    flood(&bucket, "a", 50).await;
    submit(&bucket, later("a")).await;
    bucket.apply_overrides(&changed("fair.by", "caller")).await.unwrap();
    // The response to a submission informs this process of the current setting.
    submit(&bucket, of("a", "now")).await;
    submit(&bucket, high("a")).await;
    calls_all_but_the_delayed(&bucket, 52, 1).await;
}
