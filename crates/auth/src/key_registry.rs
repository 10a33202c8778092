//! Keys created over the API: stored in Redis, and followed by every process that authenticates callers.
//!
//! A process asks for changes every 400 ms, and for a key that it doesn't know. While Redis doesn't answer, known keys
//! stay valid until they expire: by the Redis clock as last seen, plus the time passed on the clock of this process.

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

use dripfeed_store::{SharedQuestion, Store};
use tokio::sync::Mutex;

use self::changed_keys::{AllRunTimeKeys, KnownKeys, registry};
use self::error::KeyRegistryError;
use self::redis_clock::RedisClock;
use self::registry_keys::RegistryKeys;

/// So a change holds everywhere within a second, also where one answer of Redis is late.
pub(crate) const EVERY: Duration = Duration::from_millis(400);

/// The registry of API keys in Redis.
#[derive(Debug)]
pub struct KeyRegistry {
    store: Store,
    keys: RegistryKeys,
    clock: RedisClock,
    /// Locked while Redis is asked, so that what is learned comes in its order.
    known: Mutex<KnownKeys>,
    /// About a key that isn't known here.
    unknown_keys: SharedQuestion<KeyRegistryError>,
}

impl KeyRegistry {
    pub(crate) fn new(store: Store) -> Self {
        let keys = RegistryKeys::new(store.prefix());
        Self {
            store: store.for_key(&keys.keys),
            keys,
            clock: RedisClock::default(),
            known: Mutex::default(),
            unknown_keys: SharedQuestion::default(),
        }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Asks what has changed, and has `learn` know of it.
    pub(crate) async fn follow(&self, learn: impl Fn(&AllRunTimeKeys)) -> Result<(), KeyRegistryError> {
        let mut known = self.known.lock().await;
        let news = known.follow(registry(&self.keys), &self.store).await?;
        self.clock.set(news.now_ms);
        if !news.gone.is_empty() || !news.put.is_empty() {
            learn(known.all());
        }
        Ok(())
    }

    /// Knows nothing any more.
    pub(crate) async fn forget(&self, learn: impl Fn(&AllRunTimeKeys)) {
        let mut known = self.known.lock().await;
        if !known.all().is_empty() {
            *known = KnownKeys::default();
            learn(known.all());
        }
    }

    /// As `follow`, once for all who ask at about the same time.
    pub(crate) async fn ask(&self, learn: impl Fn(&AllRunTimeKeys)) -> Result<(), KeyRegistryError> {
        self.unknown_keys.ask(self.follow(learn)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_looks_come_within_the_second_that_is_promised() {
        assert!([EVERY].iter().all(|every| *every * 2 < Duration::from_secs(1)));
    }
}
