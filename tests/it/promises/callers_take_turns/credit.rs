//! Calls that a caller didn't use, or that no other caller wanted, don't count later.

use dripfeed_bucket::{Bucket, Replica};
use dripfeed_job::{Priority, Submission};
use dripfeed_tests::buckets::{DELIVERED, join, settle, submit, take};
use dripfeed_tests::redis_server::TestRedis;

use super::{call, caller_of, count, counts, flood, of, open};

/// The takes return more than one job of each caller.
#[tokio::test]
async fn one_that_had_less_than_its_share_has_saved_nothing_up() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    for caller in ["a", "b"] {
        flood(&bucket, caller, 600).await;
    }
    let replica = join(&bucket, "one").await;
    for _ in 0..20 {
        submit(&bucket, of("quiet", "x")).await;
        let taken = take(&replica, 21).await;
        assert_eq!(taken.iter().filter(|taken| caller_of(taken) == "quiet").count(), 1);
        for taken in taken {
            settle(&replica, taken, DELIVERED).await;
        }
    }
    flood(&bucket, "quiet", 100).await;
    let called = count(&call(&replica, 30, 30).await);
    assert!(called.values().all(|calls| (9..=11).contains(calls)), "{called:?}");
}

#[tokio::test]
async fn one_that_was_called_while_nobody_else_waited_waits_no_longer_for_it() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "busy", 60).await;
    flood(&bucket, "quiet", 2).await;
    // `last` waits all the time. Its low priority lets the others go first.
    submit(&bucket, Submission { priority: Some(Priority::Low), ..of("last", "x") }).await;
    assert_eq!(count(&call(&replica, 2, 2).await), counts([("busy", 1), ("quiet", 1)]));
    assert_eq!(count(&call(&replica, 60, 60).await), counts([("busy", 59), ("quiet", 1)]));
    for caller in ["quiet", "busy"] {
        flood(&bucket, caller, 30).await;
    }
    assert_eq!(count(&call(&replica, 10, 10).await), counts([("busy", 5), ("quiet", 5)]));
}

/// After every second call of its caller, a flow has the same virtual time as that of a flood.
#[tokio::test]
async fn one_that_has_nothing_else_waiting_comes_before_a_flood_at_the_same_time() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "flood", 100).await;
    // Flows of the same time are ordered by the hashes of their names.
    for n in 0..10 {
        let quiet = format!("quiet-{n}");
        submit(&bucket, Submission { priority: Some(Priority::Low), ..of("last", "x") }).await;
        call(&replica, 1, 1).await;
        let mut called = Vec::new();
        for _ in 0..2 {
            submit(&bucket, of(&quiet, "x")).await;
            called.extend(call(&replica, 1, 1).await);
        }
        assert_eq!(count(&called), counts([(&quiet, 2)]));
    }
}

/// A bucket with 100 jobs of `flood`, and one that waits all the time.
async fn flooded() -> (TestRedis, Bucket, Replica) {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "flood", 100).await;
    submit(&bucket, Submission { priority: Some(Priority::Low), ..of("last", "x") }).await;
    (redis, bucket, replica)
}

#[tokio::test]
async fn two_jobs_of_a_newcomer_come_before_the_next_one_of_a_flood() {
    let (_redis, bucket, replica) = flooded().await;
    for n in 0..10 {
        let quiet = format!("quiet-{n}");
        call(&replica, 1, 1).await;
        flood(&bucket, &quiet, 2).await;
        assert_eq!(count(&call(&replica, 1, 2).await), counts([(&quiet, 2)]));
        assert_eq!(count(&call(&replica, 1, 1).await), counts([("flood", 1)]));
    }
}

#[tokio::test]
async fn newcomers_beside_a_flood_come_in_their_order() {
    let (_redis, bucket, replica) = flooded().await;
    for n in 0..10 {
        let [a, b, c] = ["a", "b", "c"].map(|name| format!("{name}-{n}"));
        call(&replica, 1, 1).await;
        flood(&bucket, &a, 2).await;
        submit(&bucket, of(&b, "x")).await;
        let mut called = call(&replica, 1, 1).await;
        submit(&bucket, of(&c, "x")).await;
        called.extend(call(&replica, 1, 4).await);
        let callers: Vec<String> = called.into_iter().map(|(caller, _)| caller).collect();
        assert_eq!(callers, [&a, &b, &c, &a, "flood"]);
    }
}
