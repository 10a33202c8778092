//! The configured API keys.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use dripfeed_job::Priority;
use sha2::{Digest, Sha256};

use crate::scopes::Scope;
use crate::selector::{BucketSet, ServiceSet};

/// An API key; only its hash is stored.
#[derive(Clone, Debug)]
pub struct ApiKey {
    /// Names the caller: the `caller` of its jobs.
    pub id: String,
    pub sha256: [u8; 32],
    pub scopes: Vec<Scope>,
    pub buckets: BucketSet,
    pub services: ServiceSet,
    /// The highest one that its jobs may have.
    pub priority: Priority,
}

/// All keys by their hashes; replaced as a whole on reload. Without keys, everyone may do everything.
#[derive(Debug, Default)]
pub struct ApiKeys(ArcSwap<HashMap<[u8; 32], Arc<ApiKey>>>);

/// The result of looking up a key.
pub(crate) enum Identity {
    /// No keys are configured.
    Open,
    Known(Arc<ApiKey>),
    Unknown,
}

impl ApiKeys {
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = ApiKey>) -> Self {
        let all = Self::default();
        all.replace(keys);
        all
    }

    pub fn replace(&self, keys: impl IntoIterator<Item = ApiKey>) {
        self.0.store(Arc::new(keys.into_iter().map(|key| (key.sha256, Arc::new(key))).collect()));
    }

    /// Whether no keys are configured, so that everyone may do everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.load().is_empty()
    }

    /// Whether a caller of this id, the owner of a schedule, may still submit to the bucket. None: a caller without a
    /// key.
    #[must_use]
    pub fn may_submit(&self, id: Option<&str>, bucket: &str) -> bool {
        let keys = self.0.load();
        let may = |key: &ApiKey| {
            Some(key.id.as_str()) == id && key.scopes.contains(&Scope::Submit) && key.buckets.has(bucket)
        };
        keys.is_empty() || keys.values().any(|key| may(key))
    }

    /// The highest priority that the jobs of a caller of this id may have now. Of several keys of one id, the highest.
    #[must_use]
    pub fn highest_priority(&self, id: Option<&str>) -> Priority {
        let keys = self.0.load();
        let of_caller = keys.values().filter(|key| Some(key.id.as_str()) == id).map(|key| key.priority);
        if keys.is_empty() { Priority::High } else { of_caller.max().unwrap_or_default() }
    }

    /// By the hash of the key, so that the time says nothing of the keys themselves: of nearly the same key the hash is
    /// another one altogether.
    pub(crate) fn identify(&self, key: Option<&[u8]>) -> Identity {
        let keys = self.0.load();
        if keys.is_empty() {
            return Identity::Open;
        }
        let Some(key) = key else { return Identity::Unknown };
        let hash: [u8; 32] = Sha256::digest(key).into();
        keys.get(&hash).map_or(Identity::Unknown, |key| Identity::Known(Arc::clone(key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::selector::Selector;

    fn key(id: &str, secret: &str) -> ApiKey {
        let sha256 = Sha256::digest(secret).into();
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
    fn a_revoked_key_is_refused_at_once() {
        let keys = ApiKeys::new([key("a", "one"), key("b", "two")]);
        keys.replace([key("b", "two")]);
        assert_eq!(who(&keys, Some("one")), "unknown");
    }

    #[test]
    fn without_keys_everyone_passes() {
        assert_eq!(who(&ApiKeys::default(), None), "open");
        assert_eq!(who(&ApiKeys::default(), Some("one")), "open");
    }
}
