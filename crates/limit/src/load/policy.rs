use std::time::Duration;

use dripfeed_job::{duration, expected};
use http::HeaderName;
use serde::Deserialize;
use serde_json::Value as Json;

use super::{LoadFault, LoadFaults, is_too_many, join, keep, matching, members, tier};
use crate::policy::consistency::{Consistency, OnStoreError};
use crate::policy::cost::Cost;
use crate::policy::scope::KeyPart;
use crate::policy::tier::Tier;
use crate::policy::{MAX_SCOPES, MOST_KEY_PARTS, MOST_TIERS, Mode, PolicyId, PolicySettings};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    id: Option<String>,
    #[serde(default = "enabled")]
    enabled: bool,
    #[serde(default)]
    mode: RawMode,
    #[serde(default)]
    r#match: RawMatch,
    #[serde(default)]
    key: Vec<Json>,
    cost: Option<Json>,
    tiers: Option<Vec<Json>>,
    #[serde(default)]
    consistency: RawConsistency,
    sync: Option<String>,
    #[serde(default)]
    on_store_error: RawOnStoreError,
    message: Option<String>,
    #[serde(default = "max_scopes")]
    max_scopes: u64,
}

fn max_scopes() -> u64 {
    MAX_SCOPES
}

fn enabled() -> bool {
    true
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMatch {
    #[serde(default)]
    methods: Vec<String>,
    path: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawMode {
    #[default]
    Enforce,
    Shadow,
    Off,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum RawConsistency {
    #[default]
    Strict,
    Leased,
    Async,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawOnStoreError {
    #[default]
    Closed,
    Open,
    Local,
}

const DEFAULT_SYNC: Duration = Duration::from_secs(1);

fn tiers_of(items: Vec<Json>, faults: &mut LoadFaults) -> Vec<Tier> {
    let read = |(at, item)| {
        tier(item).unwrap_or_else(|found| {
            let place = format!("tiers[{at}]");
            faults.extend(found.into_iter().map(|fault| LoadFault { place: join(&place, &fault.place), ..fault }));
            Tier::placeholder()
        })
    };
    items.into_iter().enumerate().map(read).collect()
}

/// Parses the settings of a policy. Members that can't be parsed are faults, and get placeholders, which are never
/// used. Returns `None` if the policy can't be parsed at all.
pub(super) fn read(item: Json, faults: &mut LoadFaults) -> Option<PolicySettings> {
    let raw: Raw = members(item, faults)?;
    let parts = is_too_many(faults, MOST_KEY_PARTS, "key", "parts", raw.key.len());
    let tiers = is_too_many(faults, MOST_TIERS, "tiers", "tiers", raw.tiers.as_ref().map_or(0, Vec::len));
    if parts || tiers {
        return None;
    }
    let is_read = |faults: &LoadFaults, member: &str| !faults.iter().any(|fault| fault.place.starts_with(member));
    for (name, is_missing) in [("id", raw.id.is_none()), ("tiers", raw.tiers.is_none())] {
        if is_missing && is_read(faults, name) {
            faults.push(LoadFault { place: String::new(), message: format!("missing field `{name}`") });
        }
    }
    let id = raw.id.and_then(|id| keep(faults, "id", id.parse()));
    let matching = matching(&raw.r#match.methods, raw.r#match.path.as_deref(), faults);
    let key = raw.key.into_iter().enumerate();
    let key = key.map(|(at, part)| keep(faults, &format!("key[{at}]"), key_part(part)).unwrap_or(KeyPart::Caller));
    let key = key.collect();
    let cost = keep(faults, "cost", cost(raw.cost.as_ref()));
    let tiers = raw.tiers.map_or_else(|| vec![Tier::placeholder()], |items| tiers_of(items, faults));
    let sync = match raw.sync.as_deref() {
        // Whether `sync` is allowed is unknown.
        Some(_) if !is_read(faults, "consistency") => None,
        text => keep(faults, "sync", sync(text, raw.consistency)),
    };
    Some(PolicySettings {
        id: id.unwrap_or_else(PolicyId::placeholder),
        enabled: raw.enabled,
        mode: match raw.mode {
            RawMode::Enforce => Mode::Enforce,
            RawMode::Shadow => Mode::Shadow,
            RawMode::Off => Mode::Off,
        },
        matching: matching.unwrap_or_default(),
        key,
        cost: cost.unwrap_or_default(),
        tiers,
        consistency: match raw.consistency {
            RawConsistency::Strict => Consistency::Strict,
            RawConsistency::Leased => Consistency::Leased,
            RawConsistency::Async => Consistency::Async { sync: sync.unwrap_or(DEFAULT_SYNC) },
        },
        on_store_error: match raw.on_store_error {
            RawOnStoreError::Closed => OnStoreError::Closed,
            RawOnStoreError::Open => OnStoreError::Open,
            RawOnStoreError::Local => OnStoreError::Local,
        },
        message: raw.message,
        max_scopes: raw.max_scopes,
    })
}

fn key_part(part: Json) -> Result<KeyPart, String> {
    let text: String = serde_json::from_value(part).map_err(|error| expected::plain(&error.to_string()))?;
    text.parse().map_err(|error| format!("{error}"))
}

/// Parses a number, or `{header: name}`.
fn cost(raw: Option<&Json>) -> Result<Cost, String> {
    let bad = || "must be a whole number, or { header: <name> }".to_owned();
    match raw {
        None => Ok(Cost::default()),
        Some(Json::Number(number)) => number.as_u64().map(Cost::Constant).ok_or_else(bad),
        Some(Json::Object(members)) if members.len() == 1 => {
            let name = members.get("header").and_then(Json::as_str).ok_or_else(bad)?;
            name.parse::<HeaderName>().map(Cost::Header).map_err(|_| format!("`{name}` is not a valid header name"))
        }
        Some(_) => Err(bad()),
    }
}

fn sync(raw: Option<&str>, consistency: RawConsistency) -> Result<Duration, String> {
    match raw {
        None => Ok(DEFAULT_SYNC),
        Some(_) if consistency != RawConsistency::Async => Err("`sync` is only for consistency async".to_owned()),
        Some(text) => duration::parse(text).map_err(|error| error.to_string()),
    }
}
