//! Redis comes back without its latest writes.

use dripfeed_bucket::{Bucket, BucketSettings, Kind, TimeWindow};
use dripfeed_job::Submission;
use dripfeed_store::ServerOptions;
use dripfeed_tests::buckets::{self, DELIVERED, job, join, settle, submit, take, take_one};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::until;

/// A Redis without an append-only file, which comes back with its last snapshot.
async fn with_snapshots() -> TestRedis {
    TestRedis::with(ServerOptions { append_only: false, ..ServerOptions::default() }).await
}

/// The replica has sent nothing while Redis was away, so no error shows it the loss.
#[tokio::test]
async fn a_job_whose_settlement_redis_has_lost_is_handed_out_again() {
    for kind in [Kind::Stream, Kind::List] {
        let mut redis = with_snapshots().await;
        let store = redis.store().await;
        let bucket = Bucket::new(store.clone(), BucketSettings { kind, ..buckets::settings("b") });
        let replica = join(&bucket, "a").await;
        let submitted = submit(&bucket, job("x")).await.id;
        let taken = take_one(&replica).await;
        redis.ask::<()>("SAVE").await;
        settle(&replica, taken, DELIVERED).await;
        assert_eq!(bucket.census().await.expect("Redis answers").level, 0);

        redis.server.kill().await.expect("it runs");
        until("the loss is noticed", async || !store.is_connected()).await;
        redis.server.start_again().await.expect("it starts");
        until("all connections are made again", async || {
            bucket.census().await.is_ok() && bucket.outcomes(TimeWindow::default(), None, None, 1).await.is_ok()
        })
        .await;
        assert_eq!(bucket.census().await.expect("Redis answers").level, 1, "{kind:?}");
        let again = take_one(&replica).await;
        assert_eq!(again.claim.id(), submitted, "{kind:?}");
        settle(&replica, again, DELIVERED).await;
        assert_eq!(bucket.census().await.expect("Redis answers").level, 0, "{kind:?}");
    }
}

/// Redis has lost one job during its call, and kept another one.
#[tokio::test]
async fn lost_jobs_take_no_room() {
    for kind in [Kind::Stream, Kind::List] {
        let mut redis = with_snapshots().await;
        let bucket = buckets::open(&redis, BucketSettings { kind, ..buckets::settings("b") }).await;
        let of_shop = |body: String| Submission { caller: Some("shop".to_owned()), ..job(body) };
        let replica = join(&bucket, "a").await;
        submit(&bucket, of_shop("kept".to_owned())).await;
        let counted = async || {
            let holders = bucket.holders().await.expect("Redis answers");
            let held: Vec<_> = holders.into_iter().map(|of| (of.caller, of.jobs, of.bytes)).collect();
            (bucket.census().await.expect("Redis answers").bytes, held)
        };
        let before = counted().await;
        redis.ask::<()>("SAVE").await;
        let lost = submit(&bucket, of_shop("lost".repeat(1000))).await.id;
        let (of_lost, _kept): (Vec<_>, Vec<_>) =
            take(&replica, 2).await.into_iter().partition(|taken| taken.claim.id() == lost);

        redis.server.kill().await.expect("it runs");
        redis.server.start_again().await.expect("it starts");
        until("Redis can be reached again", async || bucket.census().await.is_ok()).await;
        assert_eq!(counted().await, before, "{kind:?}");
        for taken in of_lost {
            settle(&replica, taken, DELIVERED).await;
        }
        assert_eq!(counted().await, before, "{kind:?}");
    }
}
