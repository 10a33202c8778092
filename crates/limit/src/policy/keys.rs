//! The Redis keys of limits. The keys of one bucket or service share a hash tag, so that one script can check all of
//! its policies, also in Redis Cluster.

use std::sync::Arc;

use dripfeed_store::Salt;
use hmac::{Hmac, KeyInit as _, Mac as _};
use parking_lot::RwLock;
use sha2::Sha256;

use crate::policy::policy_id::PolicyId;
use crate::policy::scope::{KeyPartValue, plain_or_hash};

/// The keys of one bucket or service.
#[derive(Clone, Debug)]
pub struct ScopeKeys {
    /// `prefix:{tag}:limit:`
    stem: String,
    salt: Salt,
    /// The hash state of the latest salt, which is half of the work for each name.
    keyed: Arc<RwLock<KeyedHash>>,
}

type KeyedHash = Option<([u8; 16], Hmac<Sha256>)>;

/// The name of a scope in Redis.
pub(crate) struct ScopeName {
    pub(crate) key: String,
    /// The text for each part of the policy's key in the name.
    pub(crate) values: Vec<String>,
}

impl ScopeKeys {
    /// Creates the keys. `tag`: the name of the bucket or service.
    pub fn new(prefix: &str, tag: &str, salt: Salt) -> Self {
        // A brace would end the hash tag.
        let tag = if tag.is_empty() || tag.contains(['{', '}']) { plain_or_hash(tag) } else { tag.to_owned() };
        Self { stem: format!("{prefix}:{{{tag}}}:limit:"), salt, keyed: Arc::default() }
    }

    /// Separates the keys of a bucket that was created at run time from those of an earlier bucket of the same name.
    #[must_use]
    pub fn of_incarnation(mut self, number: u64) -> Self {
        self.stem.truncate(self.stem.len() - 1);
        self.stem.push_str(&format!("@{number}:"));
        self
    }

    /// The key of the state of a policy's tiers in one scope, a string. Values from requests are hashed to one of
    /// `most` slots, so that they can't be read in Redis and the number of keys is bounded. Values in one slot share
    /// its limit.
    pub(crate) fn scope(&self, policy: &PolicyId, parts: &[KeyPartValue<'_>], most: u64) -> ScopeName {
        let slot = parts.iter().any(KeyPartValue::is_brought).then(|| self.slot(policy, parts, most));
        let value = |part: &KeyPartValue<'_>| match (part, &slot) {
            (KeyPartValue::Named(name), _) => plain_or_hash(name),
            (KeyPartValue::Brought(_), Some(slot)) => slot.clone(),
            (KeyPartValue::Missing, _) | (KeyPartValue::Brought(_), None) => MISSING.to_owned(),
        };
        let values: Vec<String> = parts.iter().map(value).collect();
        let mut key = format!("{}{policy}", self.stem);
        for (_, value) in parts.iter().zip(&values).filter(|(part, _)| !part.is_brought()) {
            key.push(':');
            key.push_str(value);
        }
        if let Some(slot) = slot {
            key.push(':');
            key.push_str(&slot);
        }
        ScopeName { key, values }
    }

    /// Never `None`, as HMAC accepts keys of any length.
    fn keyed_hash(&self) -> Option<Hmac<Sha256>> {
        let salt = self.salt.bytes();
        if let Some((of_salt, mac)) = &*self.keyed.read()
            && *of_salt == salt
        {
            return Some(mac.clone());
        }
        let mac = Hmac::<Sha256>::new_from_slice(&salt).ok()?;
        *self.keyed.write() = Some((salt, mac.clone()));
        Some(mac)
    }

    /// The slot of a request's values. It depends on the salt, so that callers can't find out which values share a
    /// slot.
    fn slot(&self, policy: &PolicyId, parts: &[KeyPartValue<'_>], most: u64) -> String {
        let Some(mut mac) = self.keyed_hash() else { return MISSING.to_owned() };
        let parts = std::iter::once(policy.as_str()).chain(parts.iter().map(|part| match part {
            KeyPartValue::Brought(value) => value.as_ref(),
            KeyPartValue::Named(_) | KeyPartValue::Missing => "",
        }));
        for part in parts {
            mac.update(&part.len().to_le_bytes());
            mac.update(part.as_bytes());
        }
        let digest: [u8; 32] = mac.finalize().into_bytes().into();
        let number = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        format!("#{:x}", number % most.max(1))
    }
}

/// Stands for a value that a request doesn't have. All such requests share a scope, so that leaving a header out
/// doesn't avoid the limit.
const MISSING: &str = "-";

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    const MOST: u64 = 1 << 40;

    fn keys() -> ScopeKeys {
        ScopeKeys::new("dripfeed", "tigerfeeding", Salt::default())
    }

    fn key(parts: &[KeyPartValue<'_>]) -> String {
        keys().scope(&"put-product".parse().unwrap(), parts, MOST).key
    }

    fn named(name: &str) -> KeyPartValue<'_> {
        KeyPartValue::Named(name.into())
    }

    fn brought(value: &str) -> KeyPartValue<'_> {
        KeyPartValue::Brought(value.into())
    }

    #[test]
    fn a_key_names_the_policy_and_the_names_under_one_hash_tag() {
        assert_eq!(key(&[named("acme"), named("7")]), "dripfeed:{tigerfeeding}:limit:put-product:acme:7");
        assert_eq!(key(&[]), "dripfeed:{tigerfeeding}:limit:put-product");
        assert_eq!(key(&[KeyPartValue::Missing, named("-")]).split(':').nth(4), Some("-"), "what is missing");
        let other = ScopeKeys::new("p", "a}b", Salt::default());
        assert!(other.scope(&"x".parse().unwrap(), &[], MOST).key.starts_with("p:{~"));
    }

    #[test]
    fn what_a_request_brings_cannot_be_read_in_a_key() {
        let secret = key(&[brought("sk-17"), named("acme")]);
        let stem = "dripfeed:{tigerfeeding}:limit:put-product:acme:#";
        assert!(secret.starts_with(stem) && !secret.contains("sk-17"), "{secret}");
        let others = [
            key(&[brought("sk-18"), named("acme")]),
            key(&[brought("sk-17"), brought("acme")]),
            key(&[brought("sk"), brought("-17")]),
            key(&[brought("sk-"), brought("17")]),
            key(&[KeyPartValue::Missing, named("acme")]),
        ];
        for (at, other) in others.iter().enumerate() {
            assert!(*other != secret && !others[..at].contains(other), "{others:?}");
        }
    }

    #[test]
    fn values_without_number_share_a_bounded_number_of_scopes() {
        let (keys, id) = (keys(), "each".parse().unwrap());
        let names = (0..10_000).map(|n| keys.scope(&id, &[brought(&format!("value-{n}"))], 64).key);
        let scopes: std::collections::BTreeSet<String> = names.collect();
        assert_eq!(scopes.len(), 64, "each is used, and there are no more");
        let spread = keys.scope(&id, &[brought("a"), named("b")], 1);
        assert_eq!(spread.values, ["#0", "b"], "who share a scope share its windows");
    }
}
