//! The valid keys: those of the configuration, and those created over the API.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::api_key::ApiKey;
use crate::key_registry::changed_keys::AllRunTimeKeys;
use crate::key_registry::run_time_key::RunTimeKey;
use crate::scopes::Scope;

/// Replaced as a whole. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyTable {
    /// By their hashes.
    configured: Arc<HashMap<[u8; 32], Arc<ApiKey>>>,
    /// All that Redis has.
    run_time: Arc<AllRunTimeKeys>,
    /// Of these the ones that hold here, by their hashes.
    held: Arc<HashMap<[u8; 32], Arc<RunTimeKey>>>,
}

impl KeyTable {
    pub(crate) fn with_configured(&self, keys: impl IntoIterator<Item = ApiKey>) -> Self {
        let configured = keys.into_iter().map(|key| (key.sha256, Arc::new(key))).collect();
        Self { configured: Arc::new(configured), ..self.clone() }.completed()
    }

    pub(crate) fn with_run_time(&self, keys: Arc<AllRunTimeKeys>) -> Self {
        Self { run_time: keys, ..self.clone() }.completed()
    }

    /// Those of the settings win: by their ids, and by their hashes.
    fn completed(mut self) -> Self {
        let grants_keys = self.grants_keys();
        let ids: HashSet<&str> = self.configured.values().map(|key| key.id.as_str()).collect();
        let held = self.run_time.values().filter(|run_time| {
            let key = &run_time.key;
            grants_keys && !self.configured.contains_key(&key.sha256) && !ids.contains(key.id.as_str())
        });
        self.held = Arc::new(held.map(|run_time| (run_time.key.sha256, Arc::clone(run_time))).collect());
        self
    }

    /// Whether a configured key may create others. Without one, no key created over the API is valid: so the operator
    /// can end all of them, and who can write to Redis gains nothing where they aren't used.
    pub(crate) fn grants_keys(&self) -> bool {
        self.configured.values().any(|key| key.scopes.contains(&Scope::Keys))
    }

    /// Whether the settings have no keys, so that everyone may do everything.
    pub(crate) fn is_open(&self) -> bool {
        self.configured.is_empty()
    }

    pub(crate) fn is_configured(&self, id: &str) -> bool {
        self.configured.values().any(|key| key.id == id)
    }

    pub(crate) fn configured_by_hash(&self, hash: &[u8; 32]) -> Option<&Arc<ApiKey>> {
        self.configured.get(hash)
    }

    /// Also one that has expired.
    pub(crate) fn held_by_hash(&self, hash: &[u8; 32]) -> Option<&Arc<RunTimeKey>> {
        self.held.get(hash)
    }

    /// All of this id, without those that have expired.
    pub(crate) fn of_id<'t>(&'t self, id: &'t str, now_ms: u64) -> impl Iterator<Item = &'t ApiKey> {
        let configured = self.configured.values().filter(move |key| key.id == id);
        let run_time = self.run_time.get(id).and_then(|key| self.held.get(&key.key.sha256));
        let run_time = run_time.filter(move |key| key.key.id == id && !key.has_expired(now_ms));
        configured.map(|key| &**key).chain(run_time.map(|run_time| &*run_time.key))
    }

    /// All that Redis has, by their ids.
    pub(crate) const fn run_time(&self) -> &Arc<AllRunTimeKeys> {
        &self.run_time
    }

    /// Whether one that holds has expired after `since_ms`.
    pub(crate) fn has_expired_since(&self, since_ms: u64, now_ms: u64) -> bool {
        self.held.values().any(|key| key.has_expired(now_ms) && !key.has_expired(since_ms))
    }
}
