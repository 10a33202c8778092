//! Keys created over the API, which are stored in Redis. Every process that authenticates callers reads their changes.
//!
//! A process reads changes every 400 ms, and when it gets an unknown key. While Redis is unavailable, known keys stay
//! valid until they expire, by the last known Redis clock plus the time that has passed in this process.

pub(crate) mod audit_trail;
pub(crate) mod changed_keys;
pub(crate) mod delete_key;
pub(crate) mod error;
pub(crate) mod put_key;
mod redis_clock;
mod registry_keys;
pub(crate) mod run_time_key;
pub(crate) mod scripts;

use std::time::Duration;

use dripfeed_store::{CoalescedQuery, Store};
use tokio::sync::Mutex;

use self::changed_keys::{AllRunTimeKeys, KnownKeys, registry};
use self::error::KeyRegistryError;
use self::redis_clock::RedisClock;
use self::registry_keys::RegistryKeys;

/// Each process applies a change within a second, even if one reply of Redis is late.
pub(crate) const EVERY: Duration = Duration::from_millis(400);

/// The registry of API keys in Redis.
#[derive(Debug)]
pub struct KeyRegistry {
    store: Store,
    keys: RegistryKeys,
    clock: RedisClock,
    /// Locked during a read, so that changes are applied in order.
    known: Mutex<KnownKeys>,
    /// Shares reads that requests with unknown keys cause.
    unknown_keys: CoalescedQuery<KeyRegistryError>,
}

impl KeyRegistry {
    pub(crate) fn new(store: Store) -> Self {
        let keys = RegistryKeys::new(store.prefix());
        Self {
            store: store.for_key(&keys.keys),
            keys,
            clock: RedisClock::default(),
            known: Mutex::default(),
            unknown_keys: CoalescedQuery::default(),
        }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Reads changes from Redis. If there are any, passes all keys to `apply`.
    pub(crate) async fn follow(&self, apply: impl Fn(&AllRunTimeKeys)) -> Result<(), KeyRegistryError> {
        let mut known = self.known.lock().await;
        let changes = known.follow(registry(&self.keys), &self.store).await?;
        self.clock.set(changes.now_ms);
        if !changes.removed.is_empty() || !changes.changed.is_empty() {
            apply(known.all());
        }
        Ok(())
    }

    /// Forgets all keys.
    pub(crate) async fn forget(&self, apply: impl Fn(&AllRunTimeKeys)) {
        let mut known = self.known.lock().await;
        if !known.all().is_empty() {
            *known = KnownKeys::default();
            apply(known.all());
        }
    }

    /// Like `follow`, but shared by concurrent callers.
    pub(crate) async fn ask(&self, apply: impl Fn(&AllRunTimeKeys)) -> Result<(), KeyRegistryError> {
        self.unknown_keys.run(self.follow(apply)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_reads_come_within_the_second_that_is_promised() {
        assert!([EVERY].iter().all(|every| *every * 2 < Duration::from_secs(1)));
    }
}
