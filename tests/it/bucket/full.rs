//! A full bucket refuses jobs by their sizes, without sending their bodies to Redis.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::{StartTime, Submission};
use dripfeed_tests::buckets::{
    self, DELIVERED, admitted, buried, changed, job, join, refused, settle, submit, take_one, takes_nothing,
};
use dripfeed_tests::redis_server::TestRedis;

const LARGE: usize = 1 << 20;

async fn open(redis: &TestRedis, kind: Kind, capacity: u64) -> Bucket {
    buckets::open(redis, BucketSettings { capacity, kind, ..buckets::settings("b") }).await
}

/// Bytes that Redis has received since its start.
async fn sent(redis: &TestRedis) -> u64 {
    let stats: String = redis.ask("INFO stats").await;
    let line = stats.lines().find_map(|line| line.strip_prefix("total_net_input_bytes:"));
    line.and_then(|bytes| bytes.parse().ok()).expect("a number of bytes")
}

async fn refusals(redis: &TestRedis) -> Option<u64> {
    redis.ask("HGET dripfeed:{b}:tally refused:bucket_full").await
}

#[tokio::test]
async fn redis_isnt_sent_what_a_full_bucket_refuses() {
    for kind in [Kind::Stream, Kind::List] {
        let redis = TestRedis::start().await;
        let bucket = open(&redis, kind, 2).await;
        let replica = join(&bucket, "one").await;
        submit(&bucket, job("1")).await;
        submit(&bucket, job("2")).await;
        // This submission informs the process that the bucket is full.
        let first = refused(bucket.admit(job("3")).await);
        let before = sent(&redis).await;
        for answer in bucket.admit_many(vec![job("x".repeat(LARGE)); 5]).await {
            let full = refused(answer);
            assert_eq!((full.reason, full.level, full.capacity), (RefusalReason::BucketFull, 2, 2));
            assert!(full.retry_after >= first.retry_after && full.retry_after.is_some());
        }
        let sent = sent(&redis).await - before;
        assert!(sent < LARGE as u64 / 10, "{sent} bytes were sent of five refused jobs");
        assert_eq!(refusals(&redis).await, Some(6));

        settle(&replica, take_one(&replica).await, DELIVERED).await;
        assert_eq!(submit(&bucket, job("4")).await.level, 2, "there is room again");
        assert_eq!(refused(bucket.admit(job("5")).await).level, 2);
    }
}

/// A submission with a known idempotency key needs no room.
#[tokio::test]
async fn a_key_is_known_although_the_bucket_is_full() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, Kind::Stream, 1).await;
    let keyed = Submission { idempotency_key: IdempotencyKey::parse("k").ok(), ..job("1") };
    let first = submit(&bucket, keyed.clone()).await;
    for _ in 0..2 {
        assert_eq!(refused(bucket.admit(job("2")).await).reason, RefusalReason::BucketFull);
        let again = submit(&bucket, keyed.clone()).await;
        assert_eq!((again.id, again.repeated), (first.id, true));
    }
}

#[tokio::test]
async fn a_small_job_is_admitted_where_large_ones_were_refused() {
    let redis = TestRedis::start().await;
    let settings = BucketSettings { capacity_bytes: 10_000, ..buckets::settings("b") };
    let bucket = buckets::open(&redis, settings).await;
    submit(&bucket, job("x".repeat(9000))).await;
    for _ in 0..3 {
        assert_eq!(refused(bucket.admit(job("x".repeat(2000))).await).reason, RefusalReason::BucketFull);
    }
    assert_eq!(refusals(&redis).await, Some(3));
    let answers = bucket.admit_many(vec![job("x".repeat(2000)), job("small"), job("x".repeat(20_000))]).await;
    let [large, small, largest] = answers.try_into().expect("three answers");
    assert_eq!(refused(large).reason, RefusalReason::BucketFull);
    assert_eq!(admitted(small).level, 2);
    assert_eq!(refused(largest).reason, RefusalReason::NeverFits);
}

/// Later refusals, by sizes alone, have the same wait as that of the script: until parked jobs are due.
#[tokio::test]
async fn the_wait_is_the_same_as_of_the_first_refusal() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, Kind::Stream, 2).await;
    let _replica = join(&bucket, "one").await;
    let hour = Duration::from_hours(1);
    for _ in 0..2 {
        submit(&bucket, Submission { start: StartTime::After(hour), ..job("later") }).await;
    }
    let near_an_hour = |refused: Refused| refused.retry_after.is_some_and(|wait| wait > hour / 2 && wait < hour * 2);
    for _ in 0..3 {
        assert!(near_an_hour(refused(bucket.admit(job("x")).await)));
    }
    // The response to the next submission informs the process of the change.
    bucket.apply_overrides(&changed("capacity", 3)).await.unwrap();
    assert_eq!(submit(&bucket, job("x")).await.level, 3);
}

/// Jobs that were parked by throttling are due when it ends.
#[tokio::test]
async fn a_throttled_bucket_asks_to_wait_for_its_throttle_once() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, Kind::Stream, 1).await;
    let replica = join(&bucket, "one").await;
    submit(&bucket, job("1")).await;
    let hour = Duration::from_hours(1);
    settle(&replica, take_one(&replica).await, Settlement::Throttled { wait: Some(hour) }).await;
    // The script that admits refuses the first job. Later ones are refused by their sizes alone.
    for _ in 0..3 {
        let wait = refused(bucket.admit(job("2")).await).retry_after.expect("it ends");
        assert!(wait > hour / 2 && wait < hour * 3 / 2, "{wait:?} while it is throttled for {hour:?}");
    }
}

/// No other caller's jobs wait, so none leaks before this caller's may be called again.
#[tokio::test]
async fn a_bucket_full_of_a_throttled_caller_asks_to_wait_for_its_next_call() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, Kind::Stream, 2).await;
    bucket.apply_overrides(&changed("fair.rate", "1/h")).await.unwrap();
    let replica = join(&bucket, "one").await;
    submit(&bucket, job("1")).await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    submit(&bucket, job("2")).await;
    submit(&bucket, job("3")).await;
    assert!(takes_nothing(&replica).await);
    let hour = Duration::from_hours(1);
    // The script that admits refuses the first job. Later ones are refused by their sizes alone.
    for _ in 0..3 {
        let wait = refused(bucket.admit(job("4")).await).retry_after.expect("it ends");
        assert!(wait > hour / 2 && wait < hour * 3 / 2, "{wait:?}");
    }
    // A call in flight may end at any time.
    bucket.apply_overrides(&changed("fair.rate", "2/h")).await.unwrap();
    bucket.apply_overrides(&changed("fair.burst", 2)).await.unwrap();
    let _under_way = take_one(&replica).await;
    for _ in 0..3 {
        let wait = refused(bucket.admit(job("4")).await).retry_after.expect("it ends");
        assert!(wait < hour / 4, "{wait:?}");
    }
}

#[tokio::test]
async fn a_replay_has_to_wait_as_long_as_a_new_job_of_its_size() {
    for kind in [Kind::Stream, Kind::List] {
        let redis = TestRedis::start().await;
        let settings = BucketSettings { kind, capacity_bytes: 10_000, ..buckets::settings("b") };
        let bucket = buckets::open(&redis, settings).await;
        let replica = join(&bucket, "one").await;
        let large = job("x".repeat(5000));
        let died = submit(&bucket, large.clone()).await.id;
        settle(&replica, take_one(&replica).await, buried("no luck")).await;
        bucket.apply_overrides(&changed("leak.rate", "1/h")).await.unwrap();
        for _ in 0..9 {
            submit(&bucket, job("x".repeat(1000))).await;
        }
        let new = refused(bucket.admit(large).await).retry_after.expect("room comes");
        let ReplayResult::Refused(replay) = bucket.replay(died).await.unwrap() else { panic!("there is no room") };
        assert_eq!(replay.reason, RefusalReason::BucketFull);
        let wait = replay.retry_after.expect("room comes");
        // There is room for one job after an hour.
        assert!(new > Duration::from_hours(2), "{kind:?}: {new:?}");
        assert!(wait.abs_diff(new) < Duration::from_mins(1), "{kind:?}: {wait:?}, {new:?}");
    }
}
