//! The published service levels: limits of each tenant on an endpoint, counted per window of a number of seconds.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{LoadFaults, is_too_many, keep, matching, members};
use crate::policy::scope::KeyPart;
use crate::policy::tier::{Align, BadTier, Tier};
use crate::policy::{MOST_TIERS, PolicyId, PolicySettings};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    id: String,
    #[serde(default = "enabled")]
    enabled: bool,
    r#match: RawMatch,
    tiers: RawTiers,
}

fn enabled() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RawMatch {
    #[serde(default)]
    methods: Vec<String>,
    path_pattern: String,
}

/// One tier may stand without a list.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a tier with a period in seconds and a threshold, or a list of them")]
enum RawTiers {
    Many(Vec<RawTier>),
    One(RawTier),
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTier {
    /// Seconds.
    period: u64,
    threshold: u64,
}

/// As of a policy.
pub(super) fn read(item: Json, faults: &mut LoadFaults) -> Option<PolicySettings> {
    let raw: Raw = members(item, faults)?;
    let tiers = match raw.tiers {
        RawTiers::Many(tiers) => tiers,
        RawTiers::One(tier) => vec![tier],
    };
    if is_too_many(faults, MOST_TIERS, "tiers", "tiers", tiers.len()) {
        return None;
    }
    let id = keep(faults, "id", raw.id.parse()).unwrap_or_else(PolicyId::unread);
    let pattern = template(&raw.r#match.path_pattern);
    let matching = matching(&raw.r#match.methods, Some(&pattern), faults).unwrap_or_default();
    let tiers = tiers.iter().enumerate();
    let tiers = tiers.map(|(at, raw)| keep(faults, &format!("tiers[{at}]"), tier(*raw)).unwrap_or_else(Tier::unread));
    let tiers = tiers.collect();
    let key = vec![KeyPart::Tenant, KeyPart::Endpoint];
    Some(PolicySettings { enabled: raw.enabled, matching, key, ..PolicySettings::new(id, tiers) })
}

/// The policy that is the same; None: it has not the shape of a service level.
pub(super) fn as_policy(item: &Json) -> Option<Json> {
    let mut faults = LoadFaults::new();
    let raw: Raw = members(item.clone(), &mut faults).filter(|_| faults.is_empty())?;
    let tiers = match raw.tiers {
        RawTiers::Many(tiers) => tiers,
        RawTiers::One(tier) => vec![tier],
    };
    let tier =
        |tier: &RawTier| json!({ "kind": "fixed", "limit": tier.threshold, "period": format!("{}s", tier.period) });
    Some(json!({
        "id": raw.id,
        "enabled": raw.enabled,
        "match": { "methods": raw.r#match.methods, "path": template(&raw.r#match.path_pattern) },
        "key": ["tenant", "endpoint"],
        "tiers": tiers.iter().map(tier).collect::<Vec<_>>(),
    }))
}

fn tier(raw: RawTier) -> Result<Tier, BadTier> {
    Tier::fixed(raw.threshold, Duration::from_secs(raw.period), Align::Epoch { spread: None })
}

/// A pattern with the wildcards of regular expressions as a template; what is more of a regular expression than that
/// isn't one of ours, and is refused as such.
fn template(pattern: &str) -> String {
    let pattern = pattern.strip_prefix('^').unwrap_or(pattern);
    let pattern = pattern.strip_suffix('$').unwrap_or(pattern);
    let segment = |segment| match segment {
        ".*" | ".+" | "[^/]*" | "[^/]+" => "*",
        // A slash within brackets has parted them.
        other => other,
    };
    let whole = pattern.replace("[^/]", ".");
    whole.split('/').map(segment).collect::<Vec<_>>().join("/")
}
