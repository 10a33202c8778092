//! The API keys of callers, from the configuration and created over the API.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;

use arc_swap::ArcSwap;
use dripfeed_job::Priority;
use dripfeed_store::Store;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::api_key::ApiKey;
use crate::key_hash::hash_of_key;
use crate::key_registry::changed_keys::AllRunTimeKeys;
use crate::key_registry::error::KeyRegistryError;
use crate::key_registry::run_time_key::RunTimeKey;
use crate::key_registry::{EVERY, KeyRegistry};
use crate::key_table::KeyTable;
use crate::scopes::Scope;

/// All keys. A reload replaces those of the configuration. Without configured keys, everyone may do everything.
#[derive(Debug, Default)]
pub struct ApiKeys {
    table: ArcSwap<KeyTable>,
    /// `None` if no keys can be created over the API.
    registry: Option<KeyRegistry>,
    changes: watch::Sender<()>,
}

/// The result of looking up a key.
pub(crate) enum Identity {
    /// No keys are configured.
    Open,
    Known(Arc<ApiKey>),
    RunTime(Arc<RunTimeKey>),
    Unknown,
}

impl ApiKeys {
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = ApiKey>) -> Self {
        let all = Self::default();
        all.replace(keys);
        all
    }

    /// Adds the keys created over the API, which [`ApiKeys::follow`] reads.
    #[must_use]
    pub fn with_registry(self, store: Store) -> Self {
        Self { registry: Some(KeyRegistry::new(store)), ..self }
    }

    pub fn replace(&self, keys: impl IntoIterator<Item = ApiKey>) {
        let keys: Vec<ApiKey> = keys.into_iter().collect();
        self.table.rcu(|table| table.with_configured(keys.iter().cloned()));
        self.changes.send_replace(());
    }

    fn set_run_time(&self, keys: &AllRunTimeKeys) {
        let keys = Arc::new(keys.clone());
        self.table.rcu(|table| table.with_run_time(Arc::clone(&keys)));
        self.changes.send_replace(());
    }

    /// Notifies when a key may have become invalid, for long-lived responses.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Follows the keys created over the API, forever.
    pub async fn keep_following(&self) -> Infallible {
        let mut checked_ms = self.now_ms();
        loop {
            self.follow_or_log().await;
            let now_ms = self.now_ms();
            if self.table.load().has_expired_since(checked_ms, now_ms) {
                self.changes.send_replace(());
            }
            checked_ms = now_ms;
            sleep(EVERY).await;
        }
    }

    /// Like [`ApiKeys::follow`], but logs errors. While Redis is unavailable, known keys stay valid.
    pub async fn follow_or_log(&self) {
        // The connection logs that Redis is unreachable.
        if let Err(error) = self.follow().await {
            tracing::debug!(error = &error as &dyn Error, "could not read API keys from Redis");
        }
    }

    /// Reads the changes from Redis. They are in effect when this returns.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't respond in time. The known keys stay the same.
    pub async fn follow(&self) -> Result<(), KeyRegistryError> {
        match (self.registry(), &self.registry) {
            (Some(registry), _) => registry.follow(|keys| self.set_run_time(keys)).await,
            // Keys that aren't followed are forgotten, lest a key that is revoked meanwhile becomes valid again.
            (None, Some(unused)) => {
                unused.forget(|keys| self.set_run_time(keys)).await;
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }

    /// Like [`ApiKeys::follow`], but shared by concurrent callers, and made at most 20 times a second.
    ///
    /// # Errors
    /// As [`ApiKeys::follow`].
    pub(crate) async fn ask(&self) -> Result<(), KeyRegistryError> {
        match self.registry() {
            Some(registry) => registry.ask(|keys| self.set_run_time(keys)).await,
            None => Ok(()),
        }
    }

    /// Returns the registry of keys created over the API, or `None` if no configured key may create keys.
    #[must_use]
    pub fn registry(&self) -> Option<&KeyRegistry> {
        self.registry.as_ref().filter(|_| self.table.load().grants_keys())
    }

    /// Returns whether the configuration has a key with this id, which the API can't change.
    #[must_use]
    pub fn is_configured(&self, id: &str) -> bool {
        self.table.load().is_configured(id)
    }

    /// Returns whether the configuration has a key with this hash.
    #[must_use]
    pub fn is_configured_hash(&self, hash: &[u8; 32]) -> bool {
        self.table.load().configured_by_hash(hash).is_some()
    }

    /// Returns all keys created over the API that this process knows, by id, including expired ones.
    #[must_use]
    pub fn run_time_keys(&self) -> Arc<AllRunTimeKeys> {
        Arc::clone(self.table.load().run_time())
    }

    /// Returns the Redis clock, by which keys expire.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.registry.as_ref().map_or(0, KeyRegistry::now_ms)
    }

    /// Returns whether no keys are configured, so that everyone may do everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.load().is_open()
    }

    /// Returns whether the owner of a schedule may still submit to the bucket. `id`: that of the owner's key, or `None`
    /// for an owner without a key.
    #[must_use]
    pub fn may_submit(&self, id: Option<&str>, bucket: &str) -> bool {
        let table = self.table.load();
        let may = |key: &ApiKey| key.scopes.contains(&Scope::Submit) && key.buckets.matches(bucket);
        table.is_open() || id.is_some_and(|id| table.of_id(id, self.now_ms()).any(may))
    }

    /// Returns the highest priority that the caller with this id may use, with any of its keys.
    #[must_use]
    pub fn highest_priority(&self, id: Option<&str>) -> Priority {
        let table = self.table.load();
        let highest = |id: &str| table.of_id(id, self.now_ms()).map(|key| key.priority).max();
        if table.is_open() { Priority::High } else { id.and_then(highest).unwrap_or_default() }
    }

    /// Looks up a key by its hash, so that the time doesn't reveal how much of a guessed key is right.
    pub(crate) fn identify(&self, key: Option<&[u8]>) -> Identity {
        if self.is_empty() {
            return Identity::Open;
        }
        match key.filter(|key| !key.is_empty()) {
            Some(key) => self.identify_hash(&hash_of_key(key)),
            None => Identity::Unknown,
        }
    }

    /// Looks up a valid key.
    pub(crate) fn identify_hash(&self, hash: &[u8; 32]) -> Identity {
        let table = self.table.load();
        if let Some(key) = table.configured_by_hash(hash) {
            return Identity::Known(Arc::clone(key));
        }
        match table.run_time_by_hash(hash) {
            Some(key) if key.not_after_ms.is_none() || !key.has_expired(self.now_ms()) => {
                Identity::RunTime(Arc::clone(key))
            }
            _ => Identity::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selector::Selector;

    fn key(id: &str, secret: &str) -> ApiKey {
        let sha256 = hash_of_key(secret.as_bytes());
        ApiKey {
            id: id.to_owned(),
            sha256,
            scopes: vec![Scope::Read],
            buckets: Selector::All,
            services: Selector::All,
            priority: Priority::Normal,
        }
    }

    fn who(keys: &ApiKeys, secret: Option<&str>) -> String {
        match keys.identify(secret.map(str::as_bytes)) {
            Identity::Open => "open".to_owned(),
            Identity::Known(key) => key.id.clone(),
            Identity::RunTime(key) => key.key.id.clone(),
            Identity::Unknown => "unknown".to_owned(),
        }
    }

    #[test]
    fn a_key_is_identified_by_its_hash() {
        let keys = ApiKeys::new([key("a", "one"), key("b", "two")]);
        assert_eq!(who(&keys, Some("one")), "a");
        assert_eq!(who(&keys, Some("two")), "b");
        for wrong in [None, Some(""), Some("three"), Some("one ")] {
            assert_eq!(who(&keys, wrong), "unknown", "{wrong:?}");
        }
    }

    #[test]
    fn an_empty_key_is_nobodys() {
        let keys = ApiKeys::new([key("unset", "")]);
        assert_eq!(who(&keys, Some("")), "unknown");
    }

    #[test]
    fn a_revoked_key_is_refused_at_once() {
        let keys = ApiKeys::new([key("a", "one"), key("b", "two")]);
        keys.replace([key("b", "two")]);
        assert_eq!(who(&keys, Some("one")), "unknown");
    }

    fn made(id: &str, secret: &str) -> AllRunTimeKeys {
        let key = Arc::new(key(id, secret));
        let key = RunTimeKey { key, not_after_ms: None, version: 1, by: "platform".to_owned() };
        [(id.to_owned(), Arc::new(key))].into()
    }

    #[test]
    fn a_key_of_the_settings_wins_over_one_that_was_made_at_run_time() {
        let platform = ApiKey { scopes: vec![Scope::Keys], ..key("platform", "p") };
        let keys = ApiKeys::new([platform.clone(), key("a", "one")]);
        keys.set_run_time(&made("a", "other"));
        assert_eq!(who(&keys, Some("other")), "unknown", "the id is configured");
        keys.set_run_time(&made("b", "one"));
        assert_eq!(who(&keys, Some("one")), "a", "the key is configured");
        keys.set_run_time(&made("b", "two"));
        assert_eq!(who(&keys, Some("two")), "b");
        assert!(!keys.may_submit(Some("b"), "mail"), "it lacks the scope");
        assert_eq!(keys.highest_priority(Some("b")), Priority::Normal);
        keys.replace([key("a", "one")]);
        assert_eq!(who(&keys, Some("two")), "unknown", "no configured key may make keys");
        keys.replace([platform]);
        assert_eq!((who(&keys, Some("two")), who(&keys, Some("one"))), ("b".to_owned(), "unknown".to_owned()));
        keys.replace([]);
        assert_eq!(who(&keys, Some("two")), "open");
    }

    #[test]
    fn without_keys_everyone_passes() {
        assert_eq!(who(&ApiKeys::default(), None), "open");
        assert_eq!(who(&ApiKeys::default(), Some("one")), "open");
    }
}
