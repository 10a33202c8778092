//! Over a Redis that comes back without its latest writes.

use dripfeed_bucket::{Bucket, BucketSettings, Kind, TimeWindow};
use dripfeed_store::ServerOptions;
use dripfeed_tests::buckets::{self, DELIVERED, job, join, settle, submit, take_one};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::until;

/// Without an append-only file: it comes back as it was saved.
async fn with_snapshots() -> TestRedis {
    TestRedis::with(ServerOptions { append_only: false, ..ServerOptions::default() }).await
}

/// The replica has asked for nothing while Redis was away, so it was answered no error that shows it.
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
