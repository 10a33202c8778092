//! A set of policies, and selecting those that match a request.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

use thiserror::Error;

use crate::policy::matching::Variables;
use crate::policy::request::Request;
use crate::policy::scope::KeyPart;
use crate::policy::{Policy, PolicyId};

/// Policies in the order of the document, each id once.
///
/// Of the policies that match a request and have the same key and mode, only those with the most specific match apply;
/// several if they are equally specific. Policies with other keys apply in addition.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    all: Vec<Arc<Policy>>,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("two policies have the id `{id}`")]
pub struct DuplicateId {
    pub id: PolicyId,
    /// The index of the second policy with this id.
    pub place: usize,
}

impl Policies {
    /// Creates a set of policies that decide together.
    ///
    /// # Errors
    /// When two policies have the same id.
    pub fn new(policies: Vec<Policy>) -> Result<Self, DuplicateId> {
        let mut ids = HashSet::new();
        for (place, policy) in policies.iter().enumerate() {
            if !ids.insert(policy.id()) {
                return Err(DuplicateId { id: policy.id().clone(), place });
            }
        }
        Ok(Self { all: policies.into_iter().map(Arc::new).collect() })
    }

    pub fn iter(&self) -> impl Iterator<Item = &Policy> {
        self.all.iter().map(AsRef::as_ref)
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns whether any policy counts by a field of the body.
    pub fn need_bodies(&self) -> bool {
        self.iter().any(|policy| policy.settings().key.iter().any(|part| matches!(part, KeyPart::Field(_))))
    }

    /// The policies that apply to `request`, with the values of their templates' variables.
    pub(crate) fn of(&self, request: &Request<'_>) -> Vec<(Arc<Policy>, Variables)> {
        let mut matching: Vec<(Arc<Policy>, Variables)> = Vec::new();
        for policy in self.all.iter().filter(|policy| policy.is_active()) {
            let settings = policy.settings();
            if let Some(variables) = settings.matching.variables(request.method, request.path) {
                matching.push((policy.clone(), variables));
            }
        }
        let outdone = |policy: &Policy| matching.iter().any(|(other, _)| overrides(other, policy));
        let keep: Vec<bool> = matching.iter().map(|(policy, _)| !outdone(policy)).collect();
        let mut keep = keep.into_iter();
        matching.retain(|_| keep.next().unwrap_or(true));
        matching
    }
}

fn overrides(other: &Policy, policy: &Policy) -> bool {
    let (other, policy) = (other.settings(), policy.settings());
    other.mode == policy.mode
        && other.key == policy.key
        && other.matching.compare_specificity(&policy.matching) == Ordering::Greater
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::time::Duration;

    use super::*;
    use crate::policy::matching::Match;
    use crate::policy::tier::Tier;
    use crate::policy::{Mode, PolicySettings};

    fn policy(id: &str, path: Option<&str>, key: &[KeyPart]) -> PolicySettings {
        let gate = Tier::gate(Duration::from_secs(1)).unwrap();
        let matching = Match::new::<&str>(&[], path).unwrap();
        PolicySettings { matching, key: key.to_vec(), ..PolicySettings::new(id.parse().unwrap(), vec![gate]) }
    }

    fn in_force(settings: Vec<PolicySettings>, path: &str) -> Vec<String> {
        let policies = settings.into_iter().map(|settings| Policy::new(settings).unwrap()).collect();
        let policies = Policies::new(policies).unwrap();
        policies.of(&Request::new("GET", path)).iter().map(|(policy, _)| policy.id().to_string()).collect()
    }

    #[test]
    fn the_most_specific_match_wins_among_those_of_one_key() {
        let caller = [KeyPart::Caller];
        let all = vec![
            policy("any", None, &caller),
            policy("v1", Some("/v1/**"), &caller),
            policy("product", Some("/v1/product/{id}"), &caller),
            policy("address", None, &[KeyPart::Ip]),
        ];
        assert_eq!(in_force(all.clone(), "/v1/product/7"), ["product", "address"]);
        assert_eq!(in_force(all.clone(), "/v1/other"), ["v1", "address"]);
        assert_eq!(in_force(all, "/v2"), ["any", "address"]);
    }

    #[test]
    fn equally_specific_ones_are_all_in_force() {
        let all = vec![policy("second", None, &[]), policy("day", None, &[])];
        assert_eq!(in_force(all, "/"), ["second", "day"]);
    }

    #[test]
    fn a_shadow_replaces_nothing_and_what_is_off_or_disabled_is_not_there() {
        let shadow = PolicySettings { mode: Mode::Shadow, ..policy("shadow", Some("/a"), &[]) };
        let off = PolicySettings { mode: Mode::Off, ..policy("off", Some("/a"), &[]) };
        let disabled = PolicySettings { enabled: false, ..policy("disabled", Some("/a"), &[]) };
        let all = vec![policy("any", None, &[]), shadow, off, disabled];
        assert_eq!(in_force(all, "/a"), ["any", "shadow"]);
    }

    #[test]
    fn an_id_is_there_once() {
        let twice = ["a", "b", "a"].map(|id| Policy::new(policy(id, None, &[])).unwrap());
        let error = Policies::new(twice.into()).unwrap_err();
        assert_eq!((error.id.as_str(), error.place), ("a", 2));
    }
}
