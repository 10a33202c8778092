//! Redis comes back without its latest writes.

use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketSettings, Examination, Kind, SettleResult, Settlement, TimeWindow};
use dripfeed_job::{Ending, Submission};
use dripfeed_store::ServerOptions;
use dripfeed_tests::buckets::{self, DELIVERED, buried, job, join, settle, submit, take, take_one};
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

/// Redis has lost the claims of a replica, which goes on with its calls, while another one makes them, too.
#[tokio::test]
async fn a_job_that_two_replicas_end_has_one_outcome_and_is_counted_once() {
    for kind in [Kind::Stream, Kind::List] {
        let mut redis = with_snapshots().await;
        let settings = || BucketSettings { kind, ..buckets::settings("b") };
        // Two buckets as in two processes, which share nothing.
        let (bucket, other) = (buckets::open(&redis, settings()).await, buckets::open(&redis, settings()).await);
        let ends = [DELIVERED, DELIVERED, buried("no luck"), Settlement::Retry { after: Duration::ZERO }];
        for _ in &ends {
            submit(&bucket, job("x")).await;
        }
        let (first, second) = (join(&bucket, "first").await, join(&other, "second").await);
        redis.ask::<()>("SAVE").await;
        let twice = take(&first, ends.len()).await;

        redis.server.kill().await.expect("it runs");
        redis.server.start_again().await.expect("it starts");
        until("Redis can be reached again", async || other.level().await.is_ok()).await;
        for taken in take(&second, ends.len()).await {
            settle(&second, taken, DELIVERED).await;
        }
        let outcomes = async || {
            let page = other.outcomes(TimeWindow::default(), None, None, 10).await;
            format!("{:?}", page.expect("Redis answers").items)
        };
        let before = outcomes().await;
        let late = twice.into_iter().zip(ends).map(|(taken, end)| settle(&first, taken, end));
        let settled = futures::future::join_all(late).await;

        assert_eq!(settled[..3], [SettleResult::EndedBefore; 3], "{kind:?}");
        assert_eq!(outcomes().await, before, "{kind:?}");
        let census = bucket.census().await.expect("Redis answers");
        let ended: Vec<_> = census.ended.into_iter().filter(|(_, jobs)| *jobs > 0).collect();
        assert_eq!((ended, census.dead), (vec![(Ending::Delivered, 4)], 0), "{kind:?}");
        assert_eq!(bucket.examine(false).await.expect("Redis answers"), Examination::default(), "{kind:?}");
    }
}
