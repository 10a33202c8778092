//! Jobs that are submitted and cancelled leave nothing behind, and give their caller no advantage.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{JobState, Submission};
use dripfeed_tests::buckets::{DELIVERED, join, settle, submit, take_one};
use dripfeed_tests::redis_server::TestRedis;

use super::{call, caller_of, flood, of, open};

async fn kept(redis: &TestRedis) -> (u64, u64) {
    (redis.ask("ZCARD dripfeed:{b}:ranges").await, redis.ask("ZCARD dripfeed:{b}:flows").await)
}

/// A bucket with a job each of two callers, so that those of other callers have to wait for their turns.
async fn open_with_one(redis: &TestRedis) -> Bucket {
    let bucket = open(redis).await;
    submit(&bucket, of("first", "x")).await;
    submit(&bucket, of("second", "x")).await;
    bucket
}

async fn waiting_of(bucket: &Bucket, caller: &str) -> Option<u64> {
    let flows = bucket.flows(10).await.unwrap().items;
    flows.iter().find(|flow| flow.caller.as_deref() == Some(caller)).map(|flow| flow.waiting)
}

#[tokio::test]
async fn single_jobs_leave_neither_ranges_nor_flows() {
    let redis = TestRedis::start().await;
    let bucket = open_with_one(&redis).await;
    let before = kept(&redis).await;
    for n in 0..50 {
        let id = submit(&bucket, of(&format!("c{n}"), "x")).await.id;
        assert_eq!(bucket.cancel(id).await.unwrap(), CancelResult::Cancelled);
    }
    assert_eq!(kept(&redis).await, before);
}

#[tokio::test]
async fn batches_leave_neither_ranges_nor_flows() {
    let redis = TestRedis::start().await;
    let bucket = open_with_one(&redis).await;
    let before = kept(&redis).await;
    let of_many = JobFilter { caller: Some("many".to_owned()), ..JobFilter::of_state(JobState::Waiting) };
    for _ in 0..5 {
        flood(&bucket, "many", 300).await;
        assert_eq!(bucket.cancel_many(&of_many).await.unwrap(), 300);
        assert_eq!(kept(&redis).await, before);
    }
}

#[tokio::test]
async fn overdue_jobs_leave_neither_ranges_nor_flows() {
    let redis = TestRedis::start().await;
    let bucket = open_with_one(&redis).await;
    let before = kept(&redis).await;
    let brief = Submission { expires_in: Some(Duration::from_millis(1)), ..of("brief", "x") };
    assert!(bucket.admit_many(vec![brief; 10]).await.iter().all(Result::is_ok));
    while bucket.census().await.unwrap().level > 2 {
        bucket.enforce_retention().await.unwrap();
    }
    assert_eq!(kept(&redis).await, before);
}

#[tokio::test]
async fn what_waits_is_counted_without_them() {
    let redis = TestRedis::start().await;
    let bucket = open_with_one(&redis).await;
    flood(&bucket, "many", 10).await;
    for job in bucket.jobs(&JobFilter::default(), None, 9).await.unwrap().items.iter().skip(2) {
        assert_eq!(bucket.cancel(job.id).await.unwrap(), CancelResult::Cancelled);
    }
    assert_eq!(waiting_of(&bucket, "many").await, Some(3));
    // Cancels a job of a run of which some jobs were called.
    let replica = join(&bucket, "one").await;
    call(&replica, 1, 3).await;
    let left = waiting_of(&bucket, "many").await.unwrap();
    assert_eq!(left, 2);
    let last = bucket.jobs(&JobFilter::default(), None, 10).await.unwrap().items.pop().unwrap();
    assert_eq!(bucket.cancel(last.id).await.unwrap(), CancelResult::Cancelled);
    assert_eq!(waiting_of(&bucket, "many").await, Some(1));
    call(&replica, 1, 1).await;
    assert_eq!(bucket.census().await.unwrap().level, 0);
}

#[tokio::test]
async fn nobody_gets_another_turn_by_cancelling() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "patient", 50).await;
    let mut called = 0;
    for _ in 0..20 {
        let first = submit(&bucket, of("tricky", "x")).await.id;
        // The second job of the previous round may still wait.
        bucket.cancel(first).await.unwrap();
        submit(&bucket, of("tricky", "x")).await;
        let taken = take_one(&replica).await;
        called += usize::from(caller_of(&taken) == "tricky");
        settle(&replica, taken, DELIVERED).await;
    }
    assert!((9..=11).contains(&called), "{called} of 20");
}
