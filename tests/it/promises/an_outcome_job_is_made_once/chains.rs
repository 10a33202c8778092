//! A circle of buckets ends.

use dripfeed_bucket::{Buckets, HandedOver, OutcomeCourier, Take};
use dripfeed_job::Chain;
use dripfeed_tests::buckets::{self, DELIVERED, job, join, settle, submit};
use dripfeed_tests::redis_server::TestRedis;

use super::{hand_over, reporting, to};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_circle_of_two_buckets_ends() {
    let redis = TestRedis::start().await;
    let [a, b] = [("a", "b"), ("b", "a")].map(|(name, other)| (name, reporting(name, vec![to(other)], 100)));
    let (a, b) = (buckets::open(&redis, a.1).await, buckets::open(&redis, b.1).await);
    let both = Buckets::new([a.clone(), b.clone()]);
    submit(&a, job("x")).await;
    let mut couriers = [&a, &b].map(|bucket| OutcomeCourier::new(bucket.clone()));
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
            assert_eq!(hand_over(courier, &both).await, HandedOver::All);
        }
        if ends == before {
            break;
        }
    }
    assert_eq!(ends, 1 + Chain::MOST_DEPTH, "the job, and the outcome jobs behind it");
    let chains = [a.census().await, b.census().await].map(|census| census.expect("Redis answers").outbox_chains);
    assert_eq!(chains.iter().sum::<u64>(), 1);
}
