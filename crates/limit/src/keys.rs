//! All key names of limits, in one place. Those of one bucket or service share a hash tag, so that any of its policies can be
//! decided in one script, also in Redis Cluster.

use crate::policy::PolicyId;
use crate::scope::plain_or_hash;

/// The keys of one bucket or service.
#[derive(Clone, Debug)]
pub struct ScopeKeys {
    /// `prefix:{tag}:limit:`
    stem: String,
}

impl ScopeKeys {
    /// `tag`: the name of the bucket or service.
    pub fn new(prefix: &str, tag: &str) -> Self {
        // A brace would end the hash tag.
        let tag = if tag.is_empty() || tag.contains(['{', '}']) { plain_or_hash(tag) } else { tag.to_owned() };
        Self { stem: format!("{prefix}:{{{tag}}}:limit:") }
    }

    /// String: the state of a policy's tiers in one scope. `values` are fit for a key.
    pub(crate) fn scope(&self, policy: &PolicyId, values: &[String]) -> String {
        let mut key = format!("{}{policy}", self.stem);
        for value in values {
            key.push(':');
            key.push_str(value);
        }
        key
    }
}

/// The keys of the registry of services. No bucket and no service can have their hash tag: `@` is in no name.
#[derive(Clone, Debug)]
pub(crate) struct RegistryKeys {
    /// Hash: service → its rules, `{"policies": […]}`.
    pub(crate) rules: String,
    /// Hash: `version`, another one after each change; `bytes`, of all rules.
    pub(crate) state: String,
    /// Hash: intake → its heartbeats.
    pub(crate) intakes: String,
}

impl RegistryKeys {
    pub(crate) fn new(prefix: &str) -> Self {
        let key = |what: &str| format!("{prefix}:{{@services}}:{what}");
        Self { rules: key("rules"), state: key("state"), intakes: key("intakes") }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_key_names_the_policy_and_the_values_under_one_hash_tag() {
        let id: PolicyId = "put-product".parse().unwrap();
        let keys = ScopeKeys::new("dripfeed", "tigerfeeding");
        assert_eq!(
            keys.scope(&id, &["acme".to_owned(), "7".to_owned()]),
            "dripfeed:{tigerfeeding}:limit:put-product:acme:7"
        );
        assert_eq!(keys.scope(&id, &[]), "dripfeed:{tigerfeeding}:limit:put-product");
        assert!(ScopeKeys::new("p", "a}b").scope(&id, &[]).starts_with("p:{~"));
    }
}
