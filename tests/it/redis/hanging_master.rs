//! A master that hangs keeps its connections open. When Sentinel has replaced it, every connection goes to the new one.

use std::time::Duration;

use dripfeed_store::{ChannelEvent, Durability, RedisSettings, Store, StoreError};
use dripfeed_tests::redis_server::RunningRedis;
use dripfeed_tests::sentinels::Sentinels;
use dripfeed_tests::service::{PATIENCE, until};
use redis::cmd;

/// A replica of it left, so that the new master takes writes.
const REPLICAS: usize = 2;

async fn store(redis: &Sentinels, durability: Durability) -> Store {
    let settings = RedisSettings::new(redis.url().parse().expect("an address"), "dripfeed", durability);
    Store::connect(&settings).await.expect("the master answers")
}

/// Returns when Sentinel has replaced the master, which hangs, and the store has reached the new one.
async fn replace_master_of(redis: &mut Sentinels, store: &Store) {
    let old = redis.master().await;
    redis.server_mut(old).server.pause().expect("it runs");
    until("another master", async || redis.master().await != old).await;
    until("the store writes to it", async || set(store, "small", 1).await.is_ok()).await;
}

async fn set(store: &Store, key: &str, bytes: usize) -> Result<(), StoreError> {
    store.command(cmd("SET").arg(key).arg("x".repeat(bytes))).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_request_goes_to_the_new_master_as_soon_as_a_small_one_did() {
    let mut redis = Sentinels::start(REPLICAS, "").await;
    let store = store(&redis, Durability::Everysec).await;
    set(&store, "large", 1 << 20).await.expect("the master takes it");
    replace_master_of(&mut redis, &store).await;
    // It isn't sent to the old one first: that would be an error.
    set(&store, "large", 1 << 20).await.expect("the new master takes it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_come_from_the_new_master_while_the_old_one_still_hangs() {
    let mut redis = Sentinels::start(REPLICAS, "").await;
    let store = store(&redis, Durability::Everysec).await;
    let mut subscription = store.subscribe("dripfeed:news");
    assert!(matches!(subscription.next().await, Some(ChannelEvent::Missed)), "it is subscribed to");
    replace_master_of(&mut redis, &store).await;
    let publisher = async {
        loop {
            let _ = store.command::<()>(cmd("PUBLISH").arg("dripfeed:news").arg("hello")).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let heard = async { while !matches!(subscription.next().await, Some(ChannelEvent::Message(_))) {} };
    tokio::select! {
        heard = tokio::time::timeout(PATIENCE, heard) => heard.expect("a message"),
        () = publisher => {}
    }
}
