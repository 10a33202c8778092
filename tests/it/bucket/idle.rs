//! Time in which a bucket had no jobs to call doesn't count for the rate at which it calls.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{StartTime, Submission};
use dripfeed_tests::buckets::{self, DELIVERED, admitted, job, join, refused, settle, submit, take_one};
use dripfeed_tests::redis_server::TestRedis;

/// A plain `XADD` counts nothing.
const BY_HAND: usize = 50;
const HOUR: Duration = Duration::from_hours(1);

/// Makes the measurement of calls an hour older, as after an hour without calls.
async fn idle_for_an_hour(redis: &TestRedis) {
    let measured: String = redis.ask("HGET dripfeed:{b}:meter leak").await;
    let mut numbers: Vec<u64> = measured.split(' ').map(|number| number.parse().unwrap()).collect();
    for time in [0, 2] {
        numbers[time] -= u64::try_from(HOUR.as_micros()).unwrap();
    }
    let older = numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    let mut set = redis::cmd("HSET");
    set.arg("dripfeed:{b}:meter").arg("leak").arg(older);
    redis.store().await.command::<u64>(&set).await.unwrap();
}

async fn open(redis: &TestRedis, capacity: u64) -> Bucket {
    buckets::open(redis, BucketSettings { capacity, ..buckets::settings("b") }).await
}

async fn deliver(bucket: &Bucket, replica: &Replica, jobs: usize) {
    for _ in 0..jobs {
        submit(bucket, job("x")).await;
        settle(replica, take_one(replica).await, DELIVERED).await;
    }
}

fn later() -> Submission {
    Submission { start: StartTime::After(2 * HOUR), ..job("later") }
}

/// Submits a delayed job, and delivers ten jobs an hour ago.
async fn long_ago(redis: &TestRedis, bucket: &Bucket) -> Replica {
    let replica = join(bucket, "one").await;
    submit(bucket, later()).await;
    deliver(bucket, &replica, 10).await;
    assert_eq!(bucket.census().await.unwrap().parked, 1);
    idle_for_an_hour(redis).await;
    replica
}

#[tokio::test]
async fn with_a_delayed_job_an_eta_is_that_of_an_empty_bucket() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, 100).await;
    let _replica = long_ago(&redis, &bucket).await;
    for admission in bucket.admit_many(vec![job("x"); 20]).await {
        assert!(admitted(admission).eta < Duration::from_secs(1));
    }
    let within = Submission { expires_in: Some(Duration::from_secs(30)), ..job("x") };
    assert!(admitted(bucket.admit(within).await).eta < Duration::from_secs(1));
}

#[tokio::test]
async fn with_a_delayed_job_a_full_bucket_has_room_soon() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, 20).await;
    let _replica = long_ago(&redis, &bucket).await;
    let last = bucket.admit_many(vec![job("x"); 20]).await.pop().unwrap();
    assert!(refused(last).retry_after.unwrap() < Duration::from_secs(10));
}

#[tokio::test]
async fn a_bucket_full_of_delayed_jobs_has_room_when_the_first_is_due() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, 3).await;
    let replica = long_ago(&redis, &bucket).await;
    let sooner = Submission { start: StartTime::After(Duration::from_mins(1)), ..job("sooner") };
    submit(&bucket, sooner.clone()).await;
    submit(&bucket, sooner).await;
    assert!(buckets::takes_nothing(&replica).await);
    idle_for_an_hour(&redis).await;
    let refused = refused(bucket.admit(job("x")).await);
    assert!(refused.retry_after.unwrap() <= Duration::from_secs(61), "{refused:?}");
}

#[tokio::test]
async fn a_bucket_that_was_paused_begins_again() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, 20).await;
    let replica = join(&bucket, "one").await;
    submit(&bucket, job("x")).await;
    submit(&bucket, job("x")).await;
    deliver(&bucket, &replica, 10).await;
    bucket.pause().await.unwrap();
    idle_for_an_hour(&redis).await;
    bucket.resume().await.unwrap();
    assert!(submit(&bucket, job("x")).await.eta < Duration::from_secs(10));
}

#[tokio::test]
async fn jobs_added_by_hand_while_no_replica_was_there_make_no_eta_longer() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, 100).await;
    let replica = join(&bucket, "one").await;
    deliver(&bucket, &replica, 10).await;
    replica.leave().await.unwrap();
    idle_for_an_hour(&redis).await;
    for _ in 0..BY_HAND {
        redis.ask::<String>("XADD dripfeed:{b}:jobs * body x").await;
    }
    let replica = join(&bucket, "two").await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    let admitted = submit(&bucket, job("x")).await;
    assert_eq!(admitted.level as usize, BY_HAND);
    assert!(admitted.eta < Duration::from_mins(1), "{:?}", admitted.eta);
}
