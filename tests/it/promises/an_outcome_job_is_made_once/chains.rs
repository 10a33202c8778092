//! A cycle of buckets that send each other outcome jobs ends.

use dripfeed_bucket::{Bucket, BucketSettings, Buckets, HandOverResult, OutboxRelay, Take};
use dripfeed_job::Chain;
use dripfeed_tests::buckets::{self, DELIVERED, job, join, settle, submit, take_one, takes_nothing};
use dripfeed_tests::redis_server::TestRedis;

use super::{hand_over, outbox, reporting, to};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_circle_of_two_buckets_ends() {
    let redis = TestRedis::start().await;
    let [a, b] = [("a", "b"), ("b", "a")].map(|(name, other)| (name, reporting(name, vec![to(other)], 100)));
    let (a, b) = (buckets::open(&redis, a.1).await, buckets::open(&redis, b.1).await);
    let both = Buckets::new([a.clone(), b.clone()]);
    submit(&a, job("x")).await;
    let mut couriers = [&a, &b].map(|bucket| OutboxRelay::new(bucket.clone()));
    let mut ends = 0;
    loop {
        let before = ends;
        for (bucket, courier) in [&a, &b].into_iter().zip(&mut couriers) {
            let replica = join(bucket, "r").await;
            while let Take::Jobs(jobs, _) = replica.take(10).await.expect("Redis answers") {
                for taken in jobs {
                    settle(&replica, taken, DELIVERED).await;
                    ends += 1;
                }
            }
            replica.leave().await.expect("Redis answers");
            assert_eq!(hand_over(courier, &both).await, HandOverResult::All);
        }
        if ends == before {
            break;
        }
    }
    assert_eq!(ends, 1 + Chain::MOST_DEPTH, "the job, and the outcome jobs behind it");
    let chains = [a.census().await, b.census().await].map(|census| census.expect("Redis answers").outbox_chains);
    assert_eq!(chains.iter().sum::<u64>(), 1);
}

const ROOM: u64 = 2;

/// A bucket whose outcome jobs go to itself. Both the bucket and its outbox are full.
async fn standing_still(redis: &TestRedis) -> Bucket {
    let bucket = buckets::open(redis, BucketSettings { capacity: ROOM, ..reporting("a", vec![to("a")], ROOM) }).await;
    let replica = join(&bucket, "r").await;
    for _ in 0..ROOM {
        submit(&bucket, job("x")).await;
        settle(&replica, take_one(&replica).await, DELIVERED).await;
    }
    for _ in 0..ROOM {
        submit(&bucket, job("x")).await;
    }
    replica.leave().await.expect("Redis answers");
    bucket
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cycle_that_is_full_goes_on_when_a_capacity_is_raised() {
    let redis = TestRedis::start().await;
    let bucket = standing_still(&redis).await;
    let (mut courier, targets) = (OutboxRelay::new(bucket.clone()), Buckets::new([bucket.clone()]));
    let replica = join(&bucket, "again").await;
    for _ in 0..3 {
        assert!(takes_nothing(&replica).await);
        let end = hand_over(&mut courier, &targets).await;
        assert!(matches!(end, HandOverResult::Waiting(_)), "{end:?}");
    }
    assert_eq!(bucket.census().await.expect("Redis answers").pace.reason, "outbox_full");

    bucket.apply_overrides(&buckets::changed("capacity", 2 * ROOM)).await.expect("Redis answers");
    assert_eq!(hand_over(&mut courier, &targets).await, HandOverResult::All);
    assert_eq!(outbox(&redis, "a").await, 0);
    settle(&replica, take_one(&replica).await, DELIVERED).await;
}
