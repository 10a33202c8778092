//! Parses the published service levels: limits per tenant and endpoint, in windows of a number of seconds.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value as Json, json};
use thiserror::Error;

use super::{LoadFaults, is_too_many, keep, matching, members};
use crate::policy::scope::KeyPart;
use crate::policy::tier::{Align, BadTier, Tier};
use crate::policy::{MOST_TIERS, PolicyId, PolicySettings};

/// Stands for any rest of a path in a template.
const REST: &str = "**";
/// Replaces `[^/]` while a pattern is split; no path contains it.
const NO_SLASH: &str = "\0";

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "the pathPattern `{pattern}` is not supported: use `.*`, or begin it with a slash; of regular expressions a \
        segment can be `.*`, `.+`, `[^/]*` or `[^/]+`; otherwise it is a literal or {{name}}"
)]
struct BadPattern {
    pattern: String,
}

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

/// A list of tiers, or a single one.
#[derive(Deserialize)]
#[serde(untagged, expecting = "use a tier with a `period` in seconds and a `threshold`, or a list of them")]
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

/// Parses a service level as the settings of a policy.
pub(super) fn read(item: Json, faults: &mut LoadFaults) -> Option<PolicySettings> {
    let raw: Raw = members(item, faults)?;
    let tiers = match raw.tiers {
        RawTiers::Many(tiers) => tiers,
        RawTiers::One(tier) => vec![tier],
    };
    if is_too_many(faults, MOST_TIERS, "tiers", "tiers", tiers.len()) {
        return None;
    }
    let id = keep(faults, "id", raw.id.parse()).unwrap_or_else(PolicyId::placeholder);
    let path = keep(faults, "match", template(&raw.r#match.path_pattern));
    let matching = matching(&raw.r#match.methods, path.as_deref(), faults).unwrap_or_default();
    let tiers = tiers.iter().enumerate();
    let tiers =
        tiers.map(|(at, raw)| keep(faults, &format!("tiers[{at}]"), tier(*raw)).unwrap_or_else(Tier::placeholder));
    let tiers = tiers.collect();
    let key = key(path.as_deref());
    Some(PolicySettings { enabled: raw.enabled, matching, key, ..PolicySettings::new(id, tiers) })
}

/// Converts a service level to a policy. Returns `None` if it is malformed.
pub(super) fn as_policy(item: &Json) -> Option<Json> {
    let mut faults = LoadFaults::new();
    let raw: Raw = members(item.clone(), &mut faults).filter(|_| faults.is_empty())?;
    let tiers = match raw.tiers {
        RawTiers::Many(tiers) => tiers,
        RawTiers::One(tier) => vec![tier],
    };
    let path = template(&raw.r#match.path_pattern).ok()?;
    let tier =
        |tier: &RawTier| json!({ "kind": "fixed", "limit": tier.threshold, "period": format!("{}s", tier.period) });
    Some(json!({
        "id": raw.id,
        "enabled": raw.enabled,
        "match": { "methods": raw.r#match.methods, "path": path },
        "key": key(Some(&path)).iter().map(KeyPart::to_string).collect::<Vec<_>>(),
        "tiers": tiers.iter().map(tier).collect::<Vec<_>>(),
    }))
}

fn tier(raw: RawTier) -> Result<Tier, BadTier> {
    Tier::fixed(raw.threshold, Duration::from_secs(raw.period), Align::Epoch { spread: None })
}

/// Converts a pattern with wildcards of regular expressions to a template. `.*` at its end matches any rest, and `.*`
/// alone any path.
///
/// # Errors
/// For other parts of regular expressions, which would match no request as literals.
fn template(pattern: &str) -> Result<String, BadPattern> {
    let inner = pattern.strip_prefix('^').unwrap_or(pattern);
    let inner = inner.strip_suffix('$').unwrap_or(inner);
    let bad = || BadPattern { pattern: pattern.to_owned() };
    if matches!(inner, ".*" | ".+") {
        return Ok(format!("/{REST}"));
    }
    if !inner.starts_with('/') {
        return Err(bad());
    }
    // The slash in `[^/]` doesn't separate segments.
    let segments = inner.replace("[^/]", NO_SLASH);
    let last = segments.split('/').count() - 1;
    let segment = |(at, segment): (usize, &str)| match segment {
        ".*" | ".+" if at == last => Ok(REST.to_owned()),
        ".*" | ".+" => Ok("*".to_owned()),
        segment => match segment.strip_prefix(NO_SLASH) {
            Some("*" | "+") => Ok("*".to_owned()),
            _ if segment.contains(['\\', '[', ']', '(', ')', '|', '+', '^', '\0']) => Err(bad()),
            _ => Ok(segment.to_owned()),
        },
    };
    Ok(segments.split('/').enumerate().map(segment).collect::<Result<Vec<_>, _>>()?.join("/"))
}

/// A pattern with any rest has one counter per tenant. With the key `endpoint`, each path would have a separate one.
fn key(template: Option<&str>) -> Vec<KeyPart> {
    if template.is_some_and(|template| template.ends_with(REST)) {
        vec![KeyPart::Tenant]
    } else {
        vec![KeyPart::Tenant, KeyPart::Endpoint]
    }
}
