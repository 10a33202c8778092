//! Processes forget definitions that a failover has lost: Redis is the source of truth.

use dripfeed_bucket::{Definition, DefinitionBounds, KnownDefinitions, NewDefinition, PutDefinitionResult};
use dripfeed_store::{ServerOptions, Store};
use dripfeed_tests::redis_server::{TestRedis, free_port};

use super::*;

const BOUNDS: DefinitionBounds = DefinitionBounds { most: 10, bytes: 1 << 30 };

/// Defines the bucket, or replaces its known definition.
async fn define(store: &Store, bucket: &str, known: &KnownDefinitions, number: u32) {
    let new = NewDefinition {
        bucket: &bucket.parse().expect("a name"),
        known: known.get(bucket).map(|definition| definition.version),
        capacity_bytes: 1 << 20,
        by: None,
        definition: &json!({ "upstream": format!("https://{number}.example/") }),
        sealed: None,
    };
    let done = new.put(store, BOUNDS).await.expect("Redis answers");
    assert!(matches!(done, PutDefinitionResult::Done { .. }), "{done:?}");
}

/// The definitions that a starting process reads.
async fn all_in(store: &Store) -> KnownDefinitions {
    let mut known = KnownDefinitions::default();
    known.follow(store).await.expect("Redis answers");
    known
}

/// The old master and its promoted replica, which both have `changed`, `deleted` and `other`; and what a process knows.
struct Failover {
    _servers: [TestRedis; 2],
    old: Store,
    new: Store,
    known: KnownDefinitions,
}

impl Failover {
    async fn happened() -> Self {
        let port = free_port();
        let master = TestRedis::with(ServerOptions { tcp_port: Some(port), ..ServerOptions::default() }).await;
        let (replica, old) = (TestRedis::start().await, master.store().await);
        for bucket in ["changed", "deleted", "other"] {
            define(&old, bucket, &KnownDefinitions::default(), 1).await;
        }
        replica.ask::<()>(&format!("REPLICAOF 127.0.0.1 {port}")).await;
        until("the replica follows", async || master.followers().await == 1).await;
        until("it has all", async || replica.ask::<u64>("HLEN dripfeed:{@buckets}:definitions").await == 3).await;
        replica.ask::<()>("REPLICAOF NO ONE").await;
        let (known, new) = (all_in(&old).await, replica.store().await);
        Self { _servers: [master, replica], old, new, known }
    }

    /// The process reads changes from the new master. Afterwards it must know exactly the definitions there.
    async fn ends(mut self) {
        self.known.follow(&self.new).await.expect("Redis answers");
        let all = all_in(&self.new).await;
        let (known, all): (Vec<&Definition>, Vec<&Definition>) =
            (self.known.iter().map(|known| &**known).collect(), all.iter().map(|known| &**known).collect());
        assert_eq!(known, all);
    }
}

#[tokio::test]
async fn a_definition_that_was_lost_is_forgotten_though_another_one_changed_since() {
    let mut failover = Failover::happened().await;
    define(&failover.old, "changed", &failover.known, 2).await;
    failover.known.follow(&failover.old).await.expect("Redis answers");
    define(&failover.new, "other", &all_in(&failover.new).await, 2).await;
    failover.ends().await;
}

#[tokio::test]
async fn several_lost_changes_are_forgotten_though_the_last_one_was_made_again() {
    let mut failover = Failover::happened().await;
    define(&failover.old, "changed", &failover.known, 2).await;
    let deleted = failover.known.get("deleted").expect("it is known");
    deleted.begin_deletion(&failover.old).await.expect("Redis answers");
    failover.known.follow(&failover.old).await.expect("Redis answers");
    assert!(failover.known.get("deleted").expect("it is known").delete(&failover.old).await.expect("Redis answers"));
    failover.known.follow(&failover.old).await.expect("Redis answers");
    assert_eq!(failover.known.iter().count(), 2);
    let all = all_in(&failover.new).await;
    define(&failover.new, "deleted", &all, 2).await;
    failover.ends().await;
}
