//! The ETA in the response to a submission takes the caller's own rate into account.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{Priority, Submission};
use dripfeed_tests::buckets::{changed, join, refused, submit};
use dripfeed_tests::redis_server::TestRedis;
use serde_json::json;

use super::{flood, of, open, take_all};

async fn eta_s(bucket: &Bucket, job: Submission) -> u64 {
    submit(bucket, job).await.eta.as_secs()
}

#[tokio::test]
async fn an_eta_counts_the_calls_that_its_caller_has_to_wait_for() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.rate", json!("1/m")), ("fair.burst", json!(3))]).await;
    // Jobs in a batch, then a single one, then one of another caller.
    let answers = bucket.admit_many(vec![of("a"); 5]).await;
    let etas: Vec<_> =
        answers.into_iter().map(|answer| dripfeed_tests::buckets::admitted(answer).eta.as_secs()).collect();
    assert_eq!(etas, [0, 0, 0, 60, 120]);
    assert_eq!(eta_s(&bucket, of("a")).await, 180);
    assert_eq!(eta_s(&bucket, of("b")).await, 0);
    // The caller's jobs of a lower priority are called later, and don't count.
    assert_eq!(eta_s(&bucket, Submission { priority: Some(Priority::High), ..of("a") }).await, 0);
    assert_eq!(eta_s(&bucket, of("a")).await, 300);
}

#[tokio::test]
async fn calls_that_were_made_count_for_an_eta_also_where_nothing_waits() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.rate", json!("1/h")), ("fair.burst", json!(2))]).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", 2).await;
    assert_eq!(take_all(&replica).await.len(), 2);
    let eta = eta_s(&bucket, of("a")).await;
    assert!((3590..=3600).contains(&eta), "{eta}");
    // Without a rate the earlier calls don't count.
    bucket.apply_overrides(&changed("fair.rate", serde_json::Value::Null)).await.unwrap();
    assert_eq!(eta_s(&bucket, of("a")).await, 0);
}

#[tokio::test]
async fn a_deadline_that_its_own_rate_does_not_reach_is_refused_and_another_callers_is_not() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.flows", json!({ "slow": { "rate": "1/m" } }))]).await;
    flood(&bucket, "slow", 2).await;
    let within = |caller| Submission { expires_in: Some(Duration::from_secs(90)), ..of(caller) };
    let refused = refused(bucket.admit(within("slow")).await);
    assert_eq!(refused.reason, RefusalReason::DeadlineUnreachable);
    assert_eq!(refused.retry_after, Some(Duration::from_secs(30)));
    submit(&bucket, within("other")).await;
}

#[tokio::test]
async fn an_eta_is_that_of_the_slower_of_a_callers_rate_and_the_buckets() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.rate", json!("1/m")), ("leak.rate", json!("1/h"))]).await;
    join(&bucket, "one").await;
    flood(&bucket, "a", 3).await;
    let eta = eta_s(&bucket, of("a")).await;
    assert!((3 * 3600..=4 * 3600).contains(&eta), "{eta}");
    bucket.apply_overrides(&changed("leak.rate", "1000/s")).await.unwrap();
    assert_eq!(eta_s(&bucket, of("a")).await, 240);
}
