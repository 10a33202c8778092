use std::time::Duration;

use dripfeed_job::duration;
use http::HeaderName;
use serde::Deserialize;
use serde_json::Value as Json;

use super::{LoadFault, LoadFaults, at_most, keep, shape};
use crate::kinds;
use crate::policy::consistency::{Consistency, OnStoreError};
use crate::policy::cost::Cost;
use crate::policy::matching::Match;
use crate::policy::{MAX_SCOPES, MOST_KEY_PARTS, MOST_TIERS, Mode, Policy, PolicySettings};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    id: String,
    #[serde(default = "enabled")]
    enabled: bool,
    #[serde(default)]
    mode: RawMode,
    #[serde(default)]
    r#match: RawMatch,
    #[serde(default)]
    key: Vec<String>,
    cost: Option<Json>,
    tiers: Vec<kinds::Raw>,
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

pub(super) fn read(item: Json) -> Result<Policy, LoadFaults> {
    let raw: Raw = shape(item)?;
    at_most(MOST_KEY_PARTS, "key", "parts", raw.key.len())?;
    at_most(MOST_TIERS, "tiers", "tiers", raw.tiers.len())?;
    let mut faults = LoadFaults::new();
    let id = keep(&mut faults, "id", raw.id.parse());
    let matching = keep(&mut faults, "match", Match::new(&raw.r#match.methods, raw.r#match.path.as_deref()));
    let key =
        raw.key.iter().enumerate().filter_map(|(at, part)| keep(&mut faults, &format!("key[{at}]"), part.parse()));
    let key = key.collect();
    let cost = keep(&mut faults, "cost", cost(raw.cost.as_ref()));
    let tiers = raw.tiers.iter().enumerate();
    let tiers = tiers.filter_map(|(at, raw)| keep(&mut faults, &format!("tiers[{at}]"), kinds::read(raw))).collect();
    let sync = keep(&mut faults, "sync", sync(raw.sync.as_deref(), raw.consistency));
    let (Some(id), Some(matching), Some(cost), Some(sync), true) = (id, matching, cost, sync, faults.is_empty()) else {
        return Err(faults);
    };
    let settings = PolicySettings {
        id,
        enabled: raw.enabled,
        mode: match raw.mode {
            RawMode::Enforce => Mode::Enforce,
            RawMode::Shadow => Mode::Shadow,
            RawMode::Off => Mode::Off,
        },
        matching,
        key,
        cost,
        tiers,
        consistency: match raw.consistency {
            RawConsistency::Strict => Consistency::Strict,
            RawConsistency::Leased => Consistency::Leased,
            RawConsistency::Async => Consistency::Async { sync },
        },
        on_store_error: match raw.on_store_error {
            RawOnStoreError::Closed => OnStoreError::Closed,
            RawOnStoreError::Open => OnStoreError::Open,
            RawOnStoreError::Local => OnStoreError::Local,
        },
        message: raw.message,
        max_scopes: raw.max_scopes,
    };
    Policy::new(settings).map_err(|bad| vec![LoadFault { place: bad.place(), message: bad.to_string() }])
}

/// A number, or `{header: name}`.
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
