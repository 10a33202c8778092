//! The published service levels: limits of each tenant on an endpoint, counted per window of a number of seconds.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{LoadFault, LoadFaults, at_most, keep, shape};
use crate::policy::matching::Match;
use crate::policy::scope::KeyPart;
use crate::policy::tier::{Align, BadTier, Tier};
use crate::policy::{MOST_TIERS, Policy, PolicySettings};

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

pub(super) fn read(item: Json) -> Result<Policy, LoadFaults> {
    let raw: Raw = shape(item)?;
    let mut faults = LoadFaults::new();
    let id = keep(&mut faults, "id", raw.id.parse());
    let pattern = template(&raw.r#match.path_pattern);
    let matching = keep(&mut faults, "match", Match::new(&raw.r#match.methods, Some(&pattern)));
    let tiers = match raw.tiers {
        RawTiers::Many(tiers) => tiers,
        RawTiers::One(tier) => vec![tier],
    };
    at_most(MOST_TIERS, "tiers", "tiers", tiers.len())?;
    let tiers = tiers.iter().enumerate();
    let tiers = tiers.filter_map(|(at, raw)| keep(&mut faults, &format!("tiers[{at}]"), tier(*raw))).collect();
    let (Some(id), Some(matching), true) = (id, matching, faults.is_empty()) else { return Err(faults) };
    let key = vec![KeyPart::Tenant, KeyPart::Endpoint];
    let settings = PolicySettings { enabled: raw.enabled, matching, key, ..PolicySettings::new(id, tiers) };
    Policy::new(settings).map_err(|bad| vec![LoadFault { place: bad.place(), message: bad.to_string() }])
}

/// The policy that is the same; None: it has not the shape of a service level.
pub(super) fn as_policy(item: &Json) -> Option<Json> {
    let raw: Raw = shape(item.clone()).ok()?;
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
