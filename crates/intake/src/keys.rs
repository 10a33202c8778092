//! The keys that callers show, and what each may do.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use dripfeed_job::BucketName;
use dripfeed_limit::ServiceName;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// A key, known by its hash alone.
#[derive(Clone, Debug)]
pub struct AccessKey {
    /// Who comes with it: the `caller` of the jobs.
    pub id: String,
    pub sha256: [u8; 32],
    pub scopes: Vec<Scope>,
    pub buckets: BucketSet,
    pub services: ServiceSet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Hand in jobs; ask whether a request may pass.
    Submit,
    /// Look at everything.
    Read,
    /// Change, pause, cancel, replay, delete; register services.
    Operate,
}

impl Scope {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Read => "read",
            Self::Operate => "operate",
        }
    }
}

/// All there are, or those of these names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen<N> {
    All,
    Named(BTreeSet<N>),
}

pub type BucketSet = Chosen<BucketName>;
pub type ServiceSet = Chosen<ServiceName>;

impl<N: Borrow<str> + Ord> Chosen<N> {
    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(name),
        }
    }
}

/// All keys; replaced as a whole on reload. Without any, everything is open.
#[derive(Debug, Default)]
pub struct Keys(ArcSwap<Vec<Arc<AccessKey>>>);

/// What showing a key, or none, comes to.
pub(crate) enum Shown {
    /// No keys are configured.
    Open,
    Known(Arc<AccessKey>),
    Unknown,
}

impl Keys {
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = AccessKey>) -> Self {
        let all = Self::default();
        all.replace(keys);
        all
    }

    pub fn replace(&self, keys: impl IntoIterator<Item = AccessKey>) {
        self.0.store(Arc::new(keys.into_iter().map(Arc::new).collect()));
    }

    /// Compares with every key in constant time, so that the time tells nothing about any.
    pub(crate) fn identify(&self, key: Option<&[u8]>) -> Shown {
        let keys = self.0.load();
        if keys.is_empty() {
            return Shown::Open;
        }
        let Some(key) = key else { return Shown::Unknown };
        let hash: [u8; 32] = Sha256::digest(key).into();
        keys.iter()
            .fold(None, |found, known| if bool::from(known.sha256.ct_eq(&hash)) { Some(known) } else { found })
            .map_or(Shown::Unknown, |key| Shown::Known(Arc::clone(key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str, secret: &str) -> AccessKey {
        let sha256 = Sha256::digest(secret).into();
        AccessKey { id: id.to_owned(), sha256, scopes: vec![Scope::Read], buckets: Chosen::All, services: Chosen::All }
    }

    fn who(keys: &Keys, secret: Option<&str>) -> String {
        match keys.identify(secret.map(str::as_bytes)) {
            Shown::Open => "open".to_owned(),
            Shown::Known(key) => key.id.clone(),
            Shown::Unknown => "unknown".to_owned(),
        }
    }

    #[test]
    fn a_key_is_known_by_its_hash() {
        let keys = Keys::new([key("a", "one"), key("b", "two")]);
        assert_eq!(who(&keys, Some("one")), "a");
        assert_eq!(who(&keys, Some("two")), "b");
        for wrong in [None, Some(""), Some("three"), Some("one ")] {
            assert_eq!(who(&keys, wrong), "unknown", "{wrong:?}");
        }
    }

    #[test]
    fn a_revoked_key_is_unknown_at_once() {
        let keys = Keys::new([key("a", "one"), key("b", "two")]);
        keys.replace([key("b", "two")]);
        assert_eq!(who(&keys, Some("one")), "unknown");
    }

    #[test]
    fn without_keys_all_is_open() {
        assert_eq!(who(&Keys::default(), None), "open");
        assert_eq!(who(&Keys::default(), Some("one")), "open");
    }
}
