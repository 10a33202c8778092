//! Promise 5: A token is got before a job is read; so jobs that must wait stay untaken, for any replica. A token may be
//! got 8 ms before its time: then the call waits for that.

use dripfeed_bucket::JobFilter;
use dripfeed_job::JobState;
use dripfeed_tests::buckets::{self, admitted, join, open, take, takes_nothing};
use dripfeed_tests::redis_server::TestRedis;

#[tokio::test]
async fn what_must_wait_stays_untaken_for_any_replica() {
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    settings.leak.rate = "1/h".parse().ok();
    settings.leak.burst = 3;
    let bucket = open(&redis, settings).await;
    for answer in bucket.admit_many((0..10).map(|n| buckets::job(n.to_string())).collect()).await {
        admitted(answer);
    }
    let (a, b) = (join(&bucket, "a").await, join(&bucket, "b").await);
    assert_eq!(take(&a, 2).await.len(), 2);
    // It gets as many jobs as there are tokens, though it has room for more.
    assert_eq!(take(&b, 10).await.len(), 1);
    for replica in [&a, &b] {
        assert!(takes_nothing(replica).await);
    }
    let census = bucket.census().await.unwrap();
    assert_eq!((census.waiting, census.in_flight, census.parked), (7, 3, 0));
    let waiting = bucket.jobs(&JobFilter::of_state(JobState::Waiting), None, 100).await.unwrap().items;
    assert!(waiting.len() == 7 && waiting.iter().all(|job| job.consumer.is_none() && job.attempts == 0));
}

#[tokio::test]
async fn nothing_is_claimed_more_than_8_ms_before_its_token() {
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    settings.leak.rate = "200/s".parse().ok();
    settings.leak.burst = 1;
    let bucket = open(&redis, settings).await;
    for answer in bucket.admit_many((0..10).map(|n| buckets::job(n.to_string())).collect()).await {
        admitted(answer);
    }
    // One job may be called at once, and one in the next period.
    assert_eq!(take(&join(&bucket, "a").await, 10).await.len(), 2);
}

#[tokio::test]
async fn while_the_bucket_holds_or_is_paused_nothing_is_taken() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    for answer in bucket.admit_many((0..3).map(|n| buckets::job(n.to_string())).collect()).await {
        admitted(answer);
    }
    let replica = join(&bucket, "a").await;
    bucket.pause().await.unwrap();
    assert!(takes_nothing(&replica).await);
    assert_eq!(bucket.census().await.unwrap().waiting, 3);
    bucket.resume().await.unwrap();
    let first = buckets::take_one(&replica).await;
    let wait = Some(std::time::Duration::from_hours(1));
    buckets::settle(&replica, first, dripfeed_bucket::Settlement::Throttled { wait }).await;
    assert!(takes_nothing(&replica).await);
    let census = bucket.census().await.unwrap();
    assert_eq!((census.waiting, census.in_flight, census.parked), (2, 0, 1));
}
