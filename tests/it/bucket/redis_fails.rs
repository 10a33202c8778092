//! Jobs when Redis fails between two calls of one operation, or its reply is lost.

use std::time::Duration;

use dripfeed_bucket::{Bucket, Consumer, JoinKind, Replica, SettleResult, Settlement};
use dripfeed_store::{Durability, Store};
use dripfeed_tests::buckets::{self, open, settle, submit, take_one};
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::redis_server::{TestRedis, patient};
use dripfeed_tests::service::until;

const LEASE: Duration = Duration::from_millis(300);

async fn join(bucket: &Bucket, name: &str) -> Replica {
    bucket.join(Consumer::new(name), LEASE, JoinKind::First).await.expect("Redis answers")
}

/// A bucket whose calls go through the proxy.
async fn behind(proxy: &RedisFaultProxy) -> Bucket {
    let settings = patient(proxy.url().parse().expect("an address"), Durability::Process);
    Bucket::new(Store::connect(&settings).await.expect("Redis answers"), buckets::settings("b"))
}

#[tokio::test]
async fn jobs_recovered_before_redis_fails_in_the_same_heartbeat_are_counted() {
    let redis = TestRedis::start().await;
    let proxy = RedisFaultProxy::before(&redis).await;
    let own = open(&redis, buckets::settings("b")).await;
    let bucket = behind(&proxy).await;
    for dead in ["first", "second"] {
        submit(&own, buckets::job(dead)).await;
        take_one(&join(&own, dead).await).await;
    }
    let alive = join(&bucket, "alive").await;

    // The second of two calls in one heartbeat fails.
    proxy.plan("recover", ProxyFault::Hold, 1);
    let second_fails = async {
        proxy.done("recover").await;
        proxy.plan("recover", ProxyFault::Error("ERR something that no version said before"), 1);
        proxy.release();
        proxy.done("recover").await;
    };
    let mut beats = tokio::time::interval(alive.beat_interval());
    let mut beat = async || {
        beats.tick().await;
        alive.beat().await
    };
    let counted = async {
        while let Ok(recovery) = beat().await {
            assert_eq!(recovery.recovered, 0);
        }
        let mut counted = 0;
        while own.census().await.expect("Redis answers").recovered < 2 || counted == 0 {
            counted += beat().await.expect("Redis answers").recovered;
        }
        counted
    };
    let (counted, ()) = tokio::join!(counted, second_fails);
    assert_eq!(counted, 2);
}

#[tokio::test]
async fn a_throttle_whose_settlement_got_no_answer_lasts_as_long_as_the_upstream_asked() {
    let redis = TestRedis::start().await;
    let proxy = RedisFaultProxy::before(&redis).await;
    let bucket = behind(&proxy).await;
    let replica = join(&bucket, "a").await;
    submit(&bucket, buckets::job("x")).await;
    let taken = take_one(&replica).await;
    let held_until = async || redis.ask::<Option<u64>>("HGET dripfeed:{b}:pace hold").await;

    proxy.plan("settle", ProxyFault::Close, 1);
    let wait = Some(Duration::from_mins(10));
    let (settled, begun) = tokio::join!(settle(&replica, taken, Settlement::Throttled { wait }), async {
        proxy.done("settle").await;
        // The repetition of the settlement fails.
        proxy.plan("settle", ProxyFault::Error("LOADING Redis is loading the dataset in memory"), u64::MAX);
        until("the bucket is throttled", async || held_until().await.is_some()).await;
        let begun = held_until().await;
        proxy.behave("settle");
        begun
    });
    assert_eq!((settled, held_until().await), (SettleResult::Recorded, begun));
    let census = bucket.census().await.expect("Redis answers");
    assert_eq!((census.pace.reason, census.parked, census.in_flight), ("held", 1, 0));
}
