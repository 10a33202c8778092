//! The rules of one service: its policies, and the document that they were parsed from.

use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::load::{self, LoadError, LoadFault};
use crate::policy::Policy;
use crate::policy::policies::Policies;
use crate::policy::scope::KeyPart;
use crate::policy::tier::TierKind;

/// Every policy is matched with each request.
const MOST_POLICIES: usize = 100;
/// Every intake reads all rules again after each change.
const MOST_BYTES: usize = 64 * 1024;

/// Bytes of the hash, enough that different rules never have the same version.
const VERSION_BYTES: usize = 16;

/// Validated rules.
#[derive(Clone, Debug)]
pub struct Rules {
    pub(super) policies: Policies,
    document: Json,
    /// The document as stored in Redis.
    pub(super) text: String,
}

/// Why a document isn't valid rules for a service.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BadRules {
    #[error(transparent)]
    Faults(#[from] LoadError),
    #[error("the rules are {0} bytes as JSON: use at most {MOST_BYTES}")]
    TooLarge(usize),
}

impl Rules {
    /// Parses `{"policies": […]}`, or the published `{"slas": […]}`.
    ///
    /// # Errors
    /// All faults with their places, including settings that aren't available for a service.
    pub fn of(document: Json) -> Result<Self, BadRules> {
        // Checked first, so that larger documents aren't parsed.
        bounded(&document)?;
        let policies = load::document(document.clone())?;
        let faults: Vec<LoadFault> = impossible(&policies);
        if !faults.is_empty() {
            return Err(LoadError::new(faults).into());
        }
        let document = load::as_policies(document)?;
        let text = document.to_string();
        if text.len() > MOST_BYTES {
            return Err(BadRules::TooLarge(text.len()));
        }
        Ok(Self { policies, document, text })
    }

    /// Sets the stored text, which another version of this program may have written differently.
    pub(super) fn stored_as(self, text: &str) -> Self {
        Self { text: text.to_owned(), ..self }
    }

    /// Returns a hash of the rules.
    #[must_use]
    pub fn version(&self) -> String {
        Sha256::digest(&self.text).iter().take(VERSION_BYTES).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns `{"policies": […]}`, each policy as its author wrote it.
    #[must_use]
    pub const fn document(&self) -> &Json {
        &self.document
    }
}

fn bounded(document: &Json) -> Result<(), BadRules> {
    let lists = document.as_object().into_iter().flatten();
    let lists = lists.filter_map(|(name, items)| Some((name, items.as_array()?.len())));
    let too_long = lists.filter(|(_, count)| *count > MOST_POLICIES);
    let faults: Vec<LoadFault> = too_long
        .map(|(name, count)| LoadFault {
            place: name.clone(),
            message: format!("{count} policies: use at most {MOST_POLICIES}"),
        })
        .take(1)
        .collect();
    if !faults.is_empty() {
        return Err(LoadError::new(faults).into());
    }
    let bytes = document.to_string().len();
    if bytes > MOST_BYTES { Err(BadRules::TooLarge(bytes)) } else { Ok(()) }
}

fn impossible(policies: &Policies) -> Vec<LoadFault> {
    policies.iter().enumerate().flat_map(|(at, policy)| impossible_in(at, policy)).collect()
}

fn impossible_in(at: usize, policy: &Policy) -> impl Iterator<Item = LoadFault> {
    let tiers = policy.tiers().iter().enumerate().filter_map(|(tier, rule)| {
        let message = match rule.kind() {
            TierKind::Backlog => "the kind `backlog` is only for buckets",
            TierKind::Concurrent => "a check takes no lease: use the tower layer in the service",
            _ => return None,
        };
        Some((format!("tiers[{tier}]"), message))
    });
    let key = policy.settings().key.iter().enumerate().filter_map(|(part, key)| {
        let field = matches!(key, KeyPart::Field(_));
        field.then(|| (format!("key[{part}]"), "a check has no body: use a header, or the caller"))
    });
    let id = policy.id();
    let fault = |(place, message): (String, &str)| LoadFault {
        place: format!("policies[{at}].{place}"),
        message: format!("{message} (policy `{id}`)"),
    };
    tiers.chain(key).map(fault).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use serde_json::json;

    use super::*;

    fn places(document: Json) -> Vec<String> {
        match Rules::of(document).unwrap_err() {
            BadRules::Faults(error) => error.faults().iter().map(|fault| fault.place.clone()).collect(),
            error @ BadRules::TooLarge(_) => vec![error.to_string()],
        }
    }

    #[test]
    fn the_document_is_kept_as_it_was_written() {
        let document = json!({ "policies": [{ "id": "a", "tiers": [{ "kind": "bucket", "rate": "10/s" }] }] });
        assert_eq!(Rules::of(document.clone()).unwrap().document(), &document);
    }

    #[test]
    fn published_service_levels_become_the_same_policies() {
        let document = json!({ "slas": [{
            "id": "put", "match": { "methods": ["PUT"], "pathPattern": "^/v1/[^/]+/product$" },
            "tiers": [{ "period": 1, "threshold": 10 }, { "period": 86_400, "threshold": 1000 }]
        }, {
            "id": "all", "match": { "pathPattern": "/v1/.*" }, "tiers": { "period": 60, "threshold": 1 }
        }, {
            "id": "off", "enabled": false, "match": { "pathPattern": "/" }, "tiers": { "period": 60, "threshold": 1 }
        }] });
        let rules = Rules::of(document.clone()).unwrap();
        let settings = |policies: &Policies| format!("{:?}", policies.iter().map(Policy::settings).collect::<Vec<_>>());
        let again = load::document(rules.document().clone()).unwrap();
        assert_eq!(settings(&again), settings(&load::document(document).unwrap()));
    }

    #[test]
    fn what_a_service_cannot_have_is_refused_with_its_place() {
        let policy = |id: String, tiers: Json, key: Json| json!({ "id": id, "tiers": tiers, "key": key });
        let gate = json!([{ "kind": "gate", "period": "1s" }]);
        let leases = json!([{ "kind": "gate", "period": "1s" }, { "kind": "concurrent", "limit": 1, "lease": "1s" }]);
        let backlog = json!([{ "kind": "backlog", "limit": 1 }]);
        assert_eq!(
            places(json!({ "policies": [
                policy("a".into(), leases, json!([])),
                policy("b".into(), backlog, json!([])),
                policy("c".into(), gate.clone(), json!(["caller", "field:/a"])),
            ] })),
            ["policies[0].tiers[1]", "policies[1].tiers[0]", "policies[2].key[1]"]
        );
        let many: Vec<Json> = (0..101).map(|n| policy(n.to_string(), gate.clone(), json!([]))).collect();
        assert_eq!(places(json!({ "policies": many })), ["policies"]);
        let long = json!({ "id": "a", "tiers": gate, "message": "x".repeat(MOST_BYTES) });
        assert!(places(json!({ "policies": [long] }))[0].contains("at most 65536"));
    }
}
