//! Keys that are made at run time: in Redis, followed by every process that authenticates.
//!
//! A process asks for changes every 400 ms, and for a key that it doesn't know. While Redis doesn't answer, what is
//! known goes on, and expires all the same: by the Redis clock as this process last saw it, and its own since then.

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

use dripfeed_store::Store;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use self::changed_keys::{AllRunTimeKeys, KnownKeys};
use self::error::KeyRegistryError;
use self::redis_clock::RedisClock;
use self::registry_keys::RegistryKeys;

/// So a change holds everywhere within a second, also where one answer of Redis is late.
pub(crate) const EVERY: Duration = Duration::from_millis(400);
/// Unknown keys are asked for no more often, however many come.
const BETWEEN_ASKS: Duration = Duration::from_millis(50);

/// Where the keys of an installation are kept.
#[derive(Debug)]
pub struct KeyRegistry {
    store: Store,
    keys: RegistryKeys,
    clock: RedisClock,
    /// Locked while Redis is asked, so that what is learned comes in its order.
    known: Mutex<KnownKeys>,
    /// When Redis was last asked for a key, and what came of it.
    asked: Mutex<(Instant, Result<(), KeyRegistryError>)>,
}

impl KeyRegistry {
    pub(crate) fn new(store: Store) -> Self {
        let keys = RegistryKeys::new(store.prefix());
        Self {
            store: store.for_key(&keys.keys),
            keys,
            clock: RedisClock::default(),
            known: Mutex::default(),
            asked: Mutex::new((Instant::now(), Ok(()))),
        }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Asks what has changed, and has `learn` know of it.
    pub(crate) async fn follow(&self, learn: impl Fn(&AllRunTimeKeys)) -> Result<(), KeyRegistryError> {
        let mut known = self.known.lock().await;
        let news = known.follow(&self.store, &self.keys).await?;
        self.clock.set(news.now_ms);
        if news.has_changes {
            learn(&known.keys);
        }
        Ok(())
    }

    /// Knows nothing any more.
    pub(crate) async fn forget(&self, learn: impl Fn(&AllRunTimeKeys)) {
        let mut known = self.known.lock().await;
        if !known.keys.is_empty() {
            *known = KnownKeys::default();
            learn(&known.keys);
        }
    }

    /// As `follow`, once for all who ask at about the same time. A caller that comes while others wait for an answer is
    /// given the next one, which sees what was there before it came.
    pub(crate) async fn ask(&self, learn: impl Fn(&AllRunTimeKeys)) -> Result<(), KeyRegistryError> {
        let came = Instant::now();
        let mut asked = self.asked.lock().await;
        if asked.0 < came {
            sleep_until(asked.0 + BETWEEN_ASKS).await;
            asked.0 = Instant::now();
            asked.1 = self.follow(learn).await;
        }
        asked.1.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_looks_come_within_the_second_that_is_promised() {
        assert!([EVERY].iter().all(|every| *every * 2 < Duration::from_secs(1)));
        assert!([BETWEEN_ASKS].iter().all(|between| *between * 20 <= Duration::from_secs(1)));
    }
}
