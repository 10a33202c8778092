//! The bound of a caller's calls in flight.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{Priority, Submission};
use dripfeed_tests::buckets::{DELIVERED, changed, join, settle, submit, takes_nothing};
use dripfeed_tests::redis_server::TestRedis;
use serde_json::json;

use super::{caller_of, count, counts, flood, of, open, pop, take_all};

#[tokio::test]
async fn nobody_has_more_calls_under_way_than_it_may_over_all_replicas() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.max_in_flight", json!(2))]).await;
    let [one, other] = [join(&bucket, "one").await, join(&bucket, "other").await];
    flood(&bucket, "a", 10).await;
    flood(&bucket, "b", 10).await;
    let mut taken = take_all(&one).await;
    assert_eq!(count(&taken), counts([("a", 2), ("b", 2)]));
    assert!(takes_nothing(&other).await);
    settle(&one, pop(&mut taken, "a"), DELIVERED).await;
    let more = take_all(&other).await;
    assert_eq!(count(&more), counts([("a", 1)]));
}

#[tokio::test]
async fn whatever_becomes_of_a_call_another_one_may_begin() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.max_in_flight", json!(1))]).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", 20).await;
    let bury = Settlement::Bury { reason: "no".to_owned(), status: None, answer: None, called: true };
    let ends = [
        DELIVERED,
        Settlement::Retry { after: Duration::ZERO },
        Settlement::Retry { after: Duration::from_hours(1) },
        Settlement::Requeue,
        bury,
    ];
    for end in ends {
        let mut taken = take_all(&replica).await;
        assert_eq!(taken.len(), 1);
        settle(&replica, taken.remove(0), end).await;
    }
    assert_eq!(take_all(&replica).await.len(), 1);
    let second = join(&bucket, "two").await;
    assert!(takes_nothing(&second).await);
    bucket.declare_dead(replica.consumer()).await.unwrap();
    assert_eq!(take_all(&second).await.len(), 1);
    let third = join(&bucket, "three").await;
    assert!(takes_nothing(&third).await);
    second.leave().await.unwrap();
    let taken = take_all(&third).await;
    assert_eq!(taken.len(), 1);
    // The replica has claimed a job that it doesn't know any more, and requeues it.
    drop(taken);
    third.doubt();
    assert_eq!(take_all(&third).await.len(), 1);
}

#[tokio::test]
async fn jobs_of_all_priorities_count_together() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.max_in_flight", json!(3))]).await;
    for priority in [Priority::Low, Priority::Normal, Priority::High] {
        for _ in 0..2 {
            submit(&bucket, Submission { priority: Some(priority), ..of("a") }).await;
        }
    }
    submit(&bucket, Submission { priority: Some(Priority::Low), ..of("b") }).await;
    let replica = join(&bucket, "one").await;
    let mut taken = take_all(&replica).await;
    assert_eq!(count(&taken), counts([("a", 3), ("b", 1)]));
    let of_a = |taken: &[ClaimedJob]| {
        let of_a = taken.iter().filter(|taken| caller_of(taken) == "a");
        of_a.map(|taken| taken.job.as_ref().expect("a job").priority).collect::<Vec<_>>()
    };
    let (high, normal) = (Some(Priority::High), Some(Priority::Normal));
    assert!([vec![high, high, normal], vec![high, high, None]].contains(&of_a(&taken)), "{:?}", of_a(&taken));
    let at = taken.len();
    for _ in 0..2 {
        settle(&replica, pop(&mut taken, "a"), DELIVERED).await;
    }
    taken.extend(take_all(&replica).await);
    assert_eq!(taken.len(), at);
}

#[tokio::test]
async fn a_call_that_ends_wakes_a_replica_with_room() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.max_in_flight", json!(1))]).await;
    let [one, other] = [join(&bucket, "one").await, join(&bucket, "other").await];
    flood(&bucket, "a", 2).await;
    let mut taken = take_all(&one).await;
    // Until it listens, an idle take is short.
    let Take::Idle(idle) = other.take(1).await.unwrap() else { panic!("all that may be is under way") };
    settle(&one, taken.remove(0), DELIVERED).await;
    other.wait(&idle).await;
    assert_eq!(take_all(&other).await.len(), 1);
}

#[tokio::test]
async fn one_that_is_paused_waits_and_the_others_do_not() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.flows", json!({ "a": { "paused": true } }))]).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", 500).await;
    flood(&bucket, "b", 50).await;
    let mut taken = take_all(&replica).await;
    assert_eq!(count(&taken), counts([("b", 50)]));
    for taken in taken.drain(..) {
        settle(&replica, taken, DELIVERED).await;
    }
    let flows = bucket.flows(10).await.unwrap().items;
    let shown: Vec<_> = flows.iter().map(|flow| (flow.waiting, flow.is_paused, flow.throttled_until_ms)).collect();
    assert_eq!(shown, [(500, true, None)], "no time at which it may be called");
    bucket.apply_overrides(&changed("fair.flows", json!({}))).await.unwrap();
    assert!(!bucket.flows(10).await.unwrap().items[0].is_paused);
    assert_eq!(count(&take_all(&replica).await), counts([("a", 500)]));
}
