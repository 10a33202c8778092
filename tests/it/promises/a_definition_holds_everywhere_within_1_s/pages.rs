//! A process that starts reads all definitions, in as many pages as they fill.

use std::time::Duration;

use dripfeed_bucket::{DefinitionBounds, KnownDefinitions, NewDefinition, PutDefinitionResult};
use dripfeed_store::Store;
use dripfeed_tests::redis_server::TestRedis;
use tokio::time::timeout;

use super::*;

/// More than a page has.
const DEFINITIONS: u64 = 501;
const BOUNDS: DefinitionBounds = DefinitionBounds { most: 1000, bytes: 1 << 40 };
/// Pages without an end are the failure that is looked for.
const PATIENCE: Duration = Duration::from_secs(30);

async fn define(store: &Store, bucket: &str) {
    let new = NewDefinition {
        bucket: &bucket.parse().expect("a name"),
        known: None,
        capacity_bytes: 1 << 20,
        by: None,
        definition: &json!({ "upstream": "https://a.example/" }),
        sealed: None,
    };
    let done = new.put(store, BOUNDS).await.expect("Redis answers");
    assert!(matches!(done, PutDefinitionResult::Done { .. }), "{done:?}");
}

/// Changes the state as a change of definitions does a day after the deletion of this bucket.
async fn forget_deletion(redis: &TestRedis, bucket: &str) {
    let version: u64 = redis.ask(&format!("ZSCORE dripfeed:{{@buckets}}:deleted {bucket}")).await;
    for zset in ["changed", "deleted"] {
        assert_eq!(redis.ask::<u64>(&format!("ZREM dripfeed:{{@buckets}}:{zset} {bucket}")).await, 1);
    }
    redis.ask::<u64>(&format!("HSET dripfeed:{{@buckets}}:state forgotten {version}")).await;
}

#[tokio::test]
async fn all_are_read_though_a_later_deletion_is_forgotten() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    for number in 0..DEFINITIONS {
        define(&store, &format!("b-{number}")).await;
    }
    define(&store, "deleted").await;
    let mut running = KnownDefinitions::default();
    running.follow(&store).await.expect("Redis answers");
    let deleted = running.get("deleted").expect("it is known");
    assert!(deleted.delete(&store).await.expect("Redis answers"));
    forget_deletion(&redis, "deleted").await;
    for mut known in [KnownDefinitions::default(), running] {
        let read = timeout(PATIENCE, known.follow(&store)).await;
        read.expect("the pages end").expect("Redis answers");
        assert_eq!(known.iter().count() as u64, DEFINITIONS);
        assert!(known.get("deleted").is_none());
        let again = known.follow(&store).await.expect("Redis answers");
        assert!(again.is_empty(), "{again:?}");
    }
}
