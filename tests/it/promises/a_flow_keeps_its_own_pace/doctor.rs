//! The doctor finds and repairs state that somebody changed by hand.

use dripfeed_bucket::*;
use dripfeed_tests::buckets::{DELIVERED, join, settle, takes_nothing};
use dripfeed_tests::redis_server::TestRedis;
use serde_json::json;

use super::{flood, open, take_all};

async fn findings(bucket: &Bucket, repair: bool) -> Vec<FindingKind> {
    bucket.examine(repair).await.unwrap().findings.iter().map(|finding| finding.kind).collect()
}

#[tokio::test]
async fn a_call_that_is_not_counted_is_found_and_all_are_counted_again() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.max_in_flight", json!(1))]).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", 3).await;
    let mut taken = take_all(&replica).await;
    assert_eq!(findings(&bucket, false).await, []);
    let id = taken[0].claim.id();
    assert_eq!(redis.ask::<u64>(&format!("HDEL dripfeed:{{b}}:flow-state {id}")).await, 1);
    assert_eq!(findings(&bucket, true).await, [FindingKind::CallsMiscounted]);
    assert!(takes_nothing(&replica).await);
    assert_eq!(findings(&bucket, false).await, []);
    settle(&replica, taken.remove(0), DELIVERED).await;
    assert_eq!(take_all(&replica).await.len(), 1);
}

#[tokio::test]
async fn a_call_that_is_counted_and_not_under_way_is_found_and_another_one_may_begin() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.max_in_flight", json!(1))]).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", 3).await;
    let id = take_all(&replica).await[0].claim.id();
    // An acknowledgment by hand removes the job from the pending list.
    assert_eq!(redis.ask::<u64>(&format!("XACK dripfeed:{{b}}:jobs processors {id}")).await, 1);
    bucket.declare_dead(replica.consumer()).await.unwrap();
    let second = join(&bucket, "two").await;
    assert!(takes_nothing(&second).await);
    assert_eq!(findings(&bucket, true).await, [FindingKind::Stranded, FindingKind::CallsMiscounted]);
    assert_eq!(findings(&bucket, false).await, []);
    assert_eq!(take_all(&second).await.len(), 1);
}
