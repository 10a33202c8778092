//! The keys and policies that the plans of one script call share.

use std::collections::HashMap;
use std::sync::Arc;

use crate::policy::Policy;
use crate::policy::wire::Packed;

/// Added to the number of a shared policy. It is more than the bytes of any policy, whose length is in the same place.
const KNOWN_POLICY: u64 = 32_768;
/// Maximum number of shared policies; further ones are packed into each plan.
const MOST_COMMON: usize = 64;

/// The policies that the plans of one script call share, each packed once.
#[derive(Clone, Debug, Default)]
enum CommonPolicies {
    /// Each plan contains its policies.
    #[default]
    None,
    Known {
        policies: Vec<Arc<Policy>>,
        packed: Packed,
    },
}

impl CommonPolicies {
    fn number_of(&mut self, policy: &Arc<Policy>, pack: impl FnOnce() -> Vec<u8>) -> Option<u64> {
        let Self::Known { policies, packed } = self else { return None };
        let known = policies.iter().position(|known| Arc::ptr_eq(known, policy));
        if known.is_none() {
            if policies.len() == MOST_COMMON {
                return None;
            }
            let bytes = pack();
            packed.number(u64::try_from(bytes.len()).unwrap_or(0), 2).bytes(&bytes);
            policies.push(Arc::clone(policy));
        }
        u64::try_from(known.unwrap_or(policies.len() - 1)).ok()
    }
}

/// The `KEYS` of a script call, each once, and the policies that its plans refer to by number.
#[derive(Clone, Debug, Default)]
pub struct KeyIndex {
    keys: Vec<String>,
    places: HashMap<String, u64>,
    policies: CommonPolicies,
}

impl KeyIndex {
    /// Adds keys after `keys`, which the script uses by their index.
    pub fn after(keys: Vec<String>) -> Self {
        Self { keys, ..Self::default() }
    }

    /// Enables shared policies, for scripts that call `limit_load_policies` before they read a plan.
    #[must_use]
    pub fn with_policies(self) -> Self {
        Self { policies: CommonPolicies::Known { policies: Vec::new(), packed: Packed::default() }, ..self }
    }

    /// The number that refers to a shared policy, whose bytes `pack` returns. `None` if the plan must contain the
    /// policy.
    pub(super) fn number_of_policy(&mut self, policy: &Arc<Policy>, pack: impl FnOnce() -> Vec<u8>) -> Option<u64> {
        Some(KNOWN_POLICY + self.policies.number_of(policy, pack)?)
    }

    /// Returns the index of `key` in `KEYS`, counted from 1. Adds the key if it is new.
    pub fn place(&mut self, key: &str) -> u64 {
        if let Some(place) = self.places.get(key) {
            return *place;
        }
        self.keys.push(key.to_owned());
        let place = u64::try_from(self.keys.len()).unwrap_or(u64::MAX);
        self.places.insert(key.to_owned(), place);
        place
    }

    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    pub fn into_keys(self) -> Vec<String> {
        self.keys
    }

    /// Returns the keys, and the shared policies as `limit_load_policies` reads them.
    pub fn into_keys_and_policies(self) -> (Vec<String>, Vec<u8>) {
        match self.policies {
            CommonPolicies::None => (self.keys, Vec::new()),
            CommonPolicies::Known { packed, .. } => (self.keys, packed.into_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_place_behind_the_fixed_ones() {
        let mut keys = KeyIndex::after(vec!["jobs".to_owned(), "pace".to_owned()]);
        assert_eq!((keys.place("a"), keys.place("b"), keys.place("a")), (3, 4, 3));
        assert_eq!(keys.keys(), ["jobs", "pace", "a", "b"]);
    }

    #[test]
    fn a_policy_has_one_number_and_those_beyond_the_most_have_none() {
        let policies: Vec<_> = (0..=MOST_COMMON).map(|_| Arc::new(Policy::of_pace(Vec::new()))).collect();
        let mut keys = KeyIndex::default().with_policies();
        let mut number_of = |policy| keys.number_of_policy(policy, || vec![7]);
        let numbers: Vec<_> = policies.iter().map(&mut number_of).collect();
        let known = (KNOWN_POLICY..).take(MOST_COMMON).map(Some).chain([None]);
        assert!(numbers.iter().copied().eq(known));
        assert!(policies.iter().map(number_of).eq(numbers));
        let (_, packed) = keys.into_keys_and_policies();
        assert_eq!(packed, [1, 0, 7].repeat(MOST_COMMON));
        assert_eq!(KeyIndex::default().number_of_policy(&policies[0], || vec![7]), None);
    }
}
