//! An outcome job that is larger than its target's `capacity_bytes` is reported, and waits until that is raised.

use dripfeed_bucket::*;
use dripfeed_tests::buckets::{self, DELIVERED, changed, job, join, settle, submit, take_one};
use dripfeed_tests::redis_server::TestRedis;

use super::{hand_over, outbox, reporting, to};

/// Below the size of any outcome job.
const SMALL: u64 = 64;

async fn oversized(from: &Bucket) -> u64 {
    from.census().await.expect("Redis answers").outbox_oversized
}

async fn findings(from: &Bucket) -> Vec<(FindingKind, u64)> {
    let examined = from.examine(false).await.expect("Redis answers");
    examined.findings.iter().map(|finding| (finding.kind, finding.count)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_never_fits_is_reported_until_it_does_and_others_pass_it() {
    let redis = TestRedis::start().await;
    let from = buckets::open(&redis, reporting("from", vec![to("small"), to("large")], 100)).await;
    let small = buckets::open(&redis, BucketSettings { capacity_bytes: SMALL, ..buckets::settings("small") }).await;
    let large = buckets::open(&redis, buckets::settings("large")).await;
    let targets = Buckets::new([from.clone(), small.clone(), large.clone()]);
    let (replica, mut courier) = (join(&from, "r").await, OutboxRelay::new(from.clone()));
    for _ in 0..2 {
        submit(&from, job("x")).await;
        settle(&replica, take_one(&replica).await, DELIVERED).await;
    }
    assert!(matches!(hand_over(&mut courier, &targets).await, HandOverResult::Waiting(_)));
    assert_eq!((outbox(&redis, "from").await, oversized(&from).await), (2, 2));
    assert_eq!(large.census().await.expect("Redis answers").level, 2, "the others have passed them");
    assert_eq!(findings(&from).await, [(FindingKind::OutcomeJobOversized, 2)]);

    // Another process takes over the outbox, and the target has room for the outcome job.
    let mut courier = OutboxRelay::new(from.clone());
    redis.ask::<u64>("DEL dripfeed:{from}:outbox:lease").await;
    small.apply_overrides(&changed("capacity_bytes", "1MiB")).await.expect("a change");
    hand_over(&mut courier, &targets).await;
    assert_eq!((outbox(&redis, "from").await, oversized(&from).await), (0, 0));
    assert_eq!(findings(&from).await, []);
}
