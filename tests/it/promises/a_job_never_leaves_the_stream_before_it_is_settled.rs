//! Promise 3: Retry, delay and crash recovery change a job's owner in the pending list, never its id, and never copy
//! it: so `XLEN`, `XPENDING` and `XRANGE` always show the whole truth.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_tests::buckets::{self, join, open, settle, submit, take_one, takes_nothing};
use dripfeed_tests::redis_server::TestRedis;
use redis::Value;

const JOBS: &str = "dripfeed:{b}:jobs";

/// The stream as any Redis client sees it, with one entry, which has an owner while it is pending.
struct Stream(dripfeed_store::Store);

impl Stream {
    async fn entry(&self) -> Value {
        let length: u64 = self.0.command(redis::cmd("XLEN").arg(JOBS)).await.unwrap();
        assert_eq!(length, 1);
        self.0.command(redis::cmd("XRANGE").arg(JOBS).arg("-").arg("+")).await.unwrap()
    }

    async fn owner(&self) -> Option<String> {
        let mut pending = redis::cmd("XPENDING");
        pending.arg(JOBS).arg("processors").arg("-").arg("+").arg(10);
        let held: Vec<(String, String, u64, u64)> = self.0.command(&pending).await.unwrap();
        assert!(held.len() <= 1, "{held:?}");
        held.into_iter().next().map(|(_, owner, ..)| owner)
    }
}

#[tokio::test]
async fn a_claim_that_is_lost_goes_back_to_the_bucket() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let replica = join(&bucket, "a").await;
    let job = submit(&bucket, buckets::job("x")).await.id;
    // As if the task of the job had panicked.
    drop(take_one(&replica).await);
    assert!(takes_nothing(&replica).await);
    replica.doubt();
    let again = take_one(&replica).await;
    assert_eq!((again.claim.id(), again.claim.failures()), (job, 0));
}

#[tokio::test]
async fn its_owner_changes_and_the_entry_never() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let stream = Stream(redis.store().await);
    let job = submit(&bucket, buckets::job("always the same")).await;
    let entry = stream.entry().await;
    let a = join(&bucket, "a").await;
    assert_eq!(stream.owner().await, None);

    for end in [
        Settlement::Retry { after: Duration::ZERO },
        Settlement::Requeue,
        Settlement::Throttled { wait: Some(Duration::ZERO) },
    ] {
        let taken = take_one(&a).await;
        assert_eq!((taken.claim.id(), stream.owner().await.as_deref()), (job.id, Some("a")));
        assert_eq!(stream.entry().await, entry);
        settle(&a, taken, end).await;
        assert_eq!(stream.owner().await.as_deref(), Some("@parked"));
        assert_eq!(stream.entry().await, entry);
    }

    let held_by_the_dead = take_one(&a).await;
    bucket.declare_dead(a.consumer()).await.unwrap();
    assert_eq!(stream.owner().await.as_deref(), Some("@parked"));
    assert_eq!(stream.entry().await, entry);
    settle(&a, held_by_the_dead, buckets::DELIVERED).await;
    assert_eq!(stream.entry().await, entry);

    let b = join(&bucket, "b").await;
    let taken = take_one(&b).await;
    b.leave().await.unwrap();
    assert_eq!((taken.claim.id(), stream.owner().await.as_deref()), (job.id, Some("@parked")));
    assert_eq!(stream.entry().await, entry);

    let c = join(&bucket, "c").await;
    let taken = take_one(&c).await;
    assert_eq!(settle(&c, taken, buckets::DELIVERED).await, SettleResult::Recorded);
    assert_eq!(bucket.census().await.unwrap().level, 0);
    assert_eq!(stream.owner().await, None);
}

#[tokio::test]
async fn a_delayed_job_is_in_the_stream_from_the_first_moment() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let stream = Stream(redis.store().await);
    let mut late = buckets::job("late");
    late.start = dripfeed_job::StartTime::After(Duration::from_hours(1));
    submit(&bucket, late).await;
    let entry = stream.entry().await;
    let replica = join(&bucket, "a").await;
    assert!(takes_nothing(&replica).await);
    assert_eq!((stream.entry().await, stream.owner().await.as_deref()), (entry, Some("@parked")));
}
