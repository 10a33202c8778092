//! Recovery of the jobs of dead replicas while Redis fails in the middle of it.

use std::time::Duration;

use dripfeed_bucket::{Bucket, Consumer, Life, Replica};
use dripfeed_store::{Durability, Store};
use dripfeed_tests::buckets::{self, open, submit, take_one};
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::redis_server::{TestRedis, patient};

const LEASE: Duration = Duration::from_millis(300);

async fn join(bucket: &Bucket, name: &str) -> Replica {
    bucket.join(Consumer::new(name), LEASE, Life::First).await.expect("Redis answers")
}

#[tokio::test]
async fn jobs_recovered_before_redis_fails_in_the_same_heartbeat_are_counted() {
    let redis = TestRedis::start().await;
    let proxy = RedisFaultProxy::before(&redis).await;
    let settings = patient(proxy.url().parse().expect("an address"), Durability::Process);
    let own = open(&redis, buckets::settings("b")).await;
    let bucket = Bucket::new(Store::connect(&settings).await.expect("Redis answers"), buckets::settings("b"));
    for dead in ["first", "second"] {
        submit(&own, buckets::job(dead)).await;
        take_one(&join(&own, dead).await).await;
    }
    let alive = join(&bucket, "alive").await;

    // Of two calls in one heartbeat the second fails.
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
        loop {
            match beat().await {
                Ok(recovery) => assert_eq!(recovery.recovered, 0),
                Err(_) => break,
            }
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
