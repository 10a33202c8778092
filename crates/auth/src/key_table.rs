//! The table of valid keys, from the configuration and created over the API.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::api_key::ApiKey;
use crate::key_registry::changed_keys::AllRunTimeKeys;
use crate::key_registry::run_time_key::RunTimeKey;
use crate::scopes::Scope;

/// An immutable table. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyTable {
    /// The configured keys by hash.
    configured: Arc<HashMap<[u8; 32], Arc<ApiKey>>>,
    /// All keys in Redis by id.
    run_time: Arc<AllRunTimeKeys>,
    /// The keys in `run_time` that are valid here, by hash. Includes expired ones.
    valid_run_time: Arc<HashMap<[u8; 32], Arc<RunTimeKey>>>,
}

impl KeyTable {
    pub(crate) fn with_configured(&self, keys: impl IntoIterator<Item = ApiKey>) -> Self {
        let configured = keys.into_iter().map(|key| (key.sha256, Arc::new(key))).collect();
        Self { configured: Arc::new(configured), ..self.clone() }.with_valid()
    }

    pub(crate) fn with_run_time(&self, keys: Arc<AllRunTimeKeys>) -> Self {
        Self { run_time: keys, ..self.clone() }.with_valid()
    }

    /// Sets `valid_run_time`. Configured keys take precedence over keys with the same id or hash.
    fn with_valid(mut self) -> Self {
        let grants_keys = self.grants_keys();
        let ids: HashSet<&str> = self.configured.values().map(|key| key.id.as_str()).collect();
        let valid = self.run_time.values().filter(|run_time| {
            let key = &run_time.key;
            grants_keys && !self.configured.contains_key(&key.sha256) && !ids.contains(key.id.as_str())
        });
        let by_hash = valid.map(|run_time| (run_time.key.sha256, Arc::clone(run_time))).collect();
        self.valid_run_time = Arc::new(by_hash);
        self
    }

    /// Returns whether a configured key may create others. Without one, no key created over the API is valid. So the
    /// operator can disable all of them, and write access to Redis doesn't give access to installations that don't use
    /// such keys.
    pub(crate) fn grants_keys(&self) -> bool {
        self.configured.values().any(|key| key.scopes.contains(&Scope::Keys))
    }

    /// Returns whether no keys are configured, so that everyone may do everything.
    pub(crate) fn is_open(&self) -> bool {
        self.configured.is_empty()
    }

    pub(crate) fn is_configured(&self, id: &str) -> bool {
        self.configured.values().any(|key| key.id == id)
    }

    pub(crate) fn configured_by_hash(&self, hash: &[u8; 32]) -> Option<&Arc<ApiKey>> {
        self.configured.get(hash)
    }

    /// Returns a key created over the API, which may have expired.
    pub(crate) fn run_time_by_hash(&self, hash: &[u8; 32]) -> Option<&Arc<RunTimeKey>> {
        self.valid_run_time.get(hash)
    }

    /// Returns all keys with this id that haven't expired.
    pub(crate) fn of_id<'t>(&'t self, id: &'t str, now_ms: u64) -> impl Iterator<Item = &'t ApiKey> {
        let configured = self.configured.values().filter(move |key| key.id == id);
        let run_time = self.run_time.get(id).and_then(|key| self.valid_run_time.get(&key.key.sha256));
        let run_time = run_time.filter(move |key| key.key.id == id && !key.has_expired(now_ms));
        configured.map(|key| &**key).chain(run_time.map(|run_time| &*run_time.key))
    }

    /// Returns all keys in Redis by id.
    pub(crate) const fn run_time(&self) -> &Arc<AllRunTimeKeys> {
        &self.run_time
    }

    /// Returns whether a key has expired after `since_ms`.
    pub(crate) fn has_expired_since(&self, since_ms: u64, now_ms: u64) -> bool {
        self.valid_run_time.values().any(|key| key.has_expired(now_ms) && !key.has_expired(since_ms))
    }
}
