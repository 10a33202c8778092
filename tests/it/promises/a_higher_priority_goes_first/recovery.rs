//! A dead replica with many jobs is recovered in several calls, and others take jobs in between.

use dripfeed_bucket::*;
use dripfeed_job::JobId;
use dripfeed_job::Priority::{self, High, Low};
use dripfeed_store::{Durability, Store};
use dripfeed_tests::buckets::{self, DELIVERED, join, settle, take};
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::redis_server::{TestRedis, patient};

use super::{flood, open, read};

/// How many jobs one call recovers.
const PART: usize = 100;

/// Recovers one part of a dead replica's jobs: the second call fails.
async fn recover_a_part(redis: &TestRedis, dead: &Consumer) {
    let proxy = RedisFaultProxy::before(redis).await;
    let settings = patient(proxy.url().parse().expect("an address"), Durability::Process);
    let bucket = Bucket::new(Store::connect(&settings).await.expect("Redis answers"), buckets::settings("b"));
    proxy.plan("recover", ProxyFault::Hold, 1);
    let (recovered, ()) = tokio::join!(bucket.declare_dead(dead), async {
        proxy.done("recover").await;
        proxy.plan("recover", ProxyFault::Error("ERR something that no version said before"), 1);
        proxy.release();
    });
    assert!(recovered.is_err(), "{recovered:?}");
}

async fn call(replica: &Replica, jobs: usize) -> Vec<(JobId, Priority)> {
    let mut called = Vec::new();
    while called.len() < jobs {
        for taken in take(replica, jobs - called.len()).await {
            called.push((taken.claim.id(), read(&taken).1));
            settle(replica, taken, DELIVERED).await;
        }
    }
    called
}

#[tokio::test]
async fn a_recovered_job_overtakes_nobody_of_a_higher_priority_that_waits() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let (dead, alive) = (join(&bucket, "dead").await, join(&bucket, "alive").await);
    let mut held = Vec::new();
    for (priority, jobs) in [(Low, PART + 20), (High, 10)] {
        flood(&bucket, "a", priority, jobs).await;
        for most in [PART, jobs - PART.min(jobs)] {
            held.extend(if most > 0 { take(&dead, most).await } else { Vec::new() });
        }
    }
    assert_eq!(held.len(), PART + 30);

    recover_a_part(&redis, dead.consumer()).await;
    let first = call(&alive, 10).await;
    assert!(first.iter().all(|(_, priority)| *priority == Low), "those of a higher one don't wait yet: {first:?}");
    assert!(bucket.declare_dead(dead.consumer()).await.expect("Redis answers").is_some());
    let rest = call(&alive, PART + 20).await;
    assert_eq!(rest.iter().take_while(|(_, priority)| *priority == High).count(), 10, "{rest:?}");
    let (high, low) = rest.split_at(10);
    for called in [&first[..], high, low] {
        assert!(called.is_sorted(), "in the order of their admission: {called:?}");
    }
    drop(held);
}
