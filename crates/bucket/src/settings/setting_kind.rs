//! The kinds of settings that can be changed at run time: how each is parsed and applied.

use std::fmt;
use std::num::NonZeroU16;
use std::sync::Arc;

use dripfeed_job::rate::MAX_EXACT_INTEGER;
use dripfeed_job::{Rate, expected, size};
use dripfeed_limit::LoadError;
use serde::de::{DeserializeOwned, Error as _, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;
use thiserror::Error;

use crate::settings::BucketSettings;
use crate::settings::fair::{FairBy, Weights};
use crate::settings::flow_bounds::NamedFlows;
use crate::settings::flow_tiers::FlowTiers;
use crate::settings::limits::BucketLimits;
use crate::settings::max_share::MaxShare;
use crate::settings::own_limit::NO_LIMIT;
use crate::settings::pace_tiers::PaceTiers;

/// The settings to which run-time values are applied.
pub struct Adjustable {
    pub(crate) settings: BucketSettings,
    pub(crate) limits: BucketLimits,
}

type Set<T> = fn(&mut Adjustable, T);

#[derive(Clone, Copy, Debug)]
pub enum SettingKind {
    /// From 1 to 2^53 - 1.
    Count(Set<u64>),
    /// From 1 to 65535.
    SmallCount(Set<u32>),
    /// Bytes as a number, or as text with a unit.
    Size(Set<u64>),
    /// A count, or `none`, which is also a value of `MaxShare` and `Rate`.
    Most(Set<Option<u64>>),
    MaxShare(Set<Option<MaxShare>>),
    Rate(Set<Option<Rate>>),
    Switch(Set<bool>),
    FairBy(Set<FairBy>),
    Weights(Set<Weights>),
    Flows(Set<NamedFlows>),
    FlowTiers(Set<FlowTiers>),
    PaceTiers(Set<PaceTiers>),
    /// A list of policies, or a document with the member `policies`.
    Limits(Set<BucketLimits>),
}

/// Why a setting can't be changed to a value.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BadSetting {
    #[error("{0}")]
    Value(String),
    /// All faults of a list or an object, with places that begin with the setting's name.
    #[error(transparent)]
    Parts(#[from] LoadError),
}

/// A valid value of a setting.
#[derive(Clone)]
pub(crate) struct SettingValue {
    /// The value in the form of the API.
    pub(crate) json: Json,
    pub(crate) put: Arc<dyn Fn(&mut Adjustable) + Send + Sync>,
}

impl SettingValue {
    fn new<T: Clone + Send + Sync + 'static>(json: impl Into<Json>, value: T, set: Set<T>) -> Self {
        Self { json: json.into(), put: Arc::new(move |to| set(to, value.clone())) }
    }
}

impl PartialEq for SettingValue {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}

impl fmt::Debug for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.json.fmt(f)
    }
}

impl SettingKind {
    /// Parses a value. Faults have places that begin with `place`.
    pub(crate) fn read(self, place: &str, json: Json) -> Result<SettingValue, BadSetting> {
        Ok(match self {
            Self::Count(set) => value(json).map(|Count(count)| SettingValue::new(count, count, set))?,
            Self::SmallCount(set) => {
                let count = value::<NonZeroU16>(json)?.get();
                SettingValue::new(count, u32::from(count), set)
            }
            Self::Size(set) => value(json).map(|Size(bytes)| SettingValue::new(bytes, bytes, set))?,
            Self::Most(set) => limit(json, set, |Count(count)| (count.into(), count))?,
            Self::MaxShare(set) => limit(json, set, |share: MaxShare| (share.to_string().into(), share))?,
            Self::Rate(set) => limit(json, set, |rate: Rate| (rate.to_string().into(), rate))?,
            Self::Switch(set) => value(json).map(|on: bool| SettingValue::new(on, on, set))?,
            Self::FairBy(set) => value(json).map(|by: FairBy| SettingValue::new(by.as_str(), by, set))?,
            Self::Weights(set) => {
                value(json).map(|weights: Weights| SettingValue::new(weights.to_json(), weights, set))?
            }
            Self::Flows(set) => {
                let flows = NamedFlows::read(place, &json)?;
                SettingValue::new(flows.to_json(), flows, set)
            }
            Self::FlowTiers(set) => {
                let tiers = FlowTiers::read(place, json)?;
                SettingValue::new(tiers.to_json(), tiers, set)
            }
            Self::PaceTiers(set) => {
                let tiers = PaceTiers::read(place, value(json)?)?;
                SettingValue::new(Json::from(tiers.written()), tiers, set)
            }
            Self::Limits(set) => {
                let limits = limits(place, json)?;
                SettingValue::new(Json::from(limits.document()), limits, set)
            }
        })
    }

    /// Converts the text of a value in the hash `control` to JSON.
    pub(crate) fn json_of_text(self, text: &str) -> Result<Json, serde_json::Error> {
        match self {
            Self::MaxShare(_) | Self::Rate(_) | Self::FairBy(_) => Ok(Json::from(text)),
            Self::Most(_) if text == NO_LIMIT => Ok(Json::from(text)),
            _ => serde_json::from_str(text),
        }
    }
}

/// Parses a limit, or the word for no limit.
fn limit<R: DeserializeOwned, T: Clone + Send + Sync + 'static>(
    json: Json,
    set: Set<Option<T>>,
    of: fn(R) -> (Json, T),
) -> Result<SettingValue, BadSetting> {
    if json == NO_LIMIT {
        return Ok(SettingValue::new(NO_LIMIT, None, set));
    }
    let read = value(json).map_err(|error| BadSetting::Value(format!("{error}; use {NO_LIMIT} for no limit")))?;
    let (json, limit) = of(read);
    Ok(SettingValue::new(json, Some(limit), set))
}

fn value<T: DeserializeOwned>(json: Json) -> Result<T, BadSetting> {
    serde_json::from_value(json).map_err(|error| BadSetting::Value(expected::plain(&error.to_string())))
}

fn limits(place: &str, json: Json) -> Result<BucketLimits, BadSetting> {
    let bad = |message: &str| Err(BadSetting::Value(message.to_owned()));
    match json {
        Json::Array(items) => Ok(BucketLimits::read(place, items)?),
        Json::Object(mut members) => match (members.remove("policies"), members.is_empty()) {
            (Some(Json::Array(items)), true) => Ok(BucketLimits::read(&format!("{place}.policies"), items)?),
            _ => bad("a document has one member `policies`, a list"),
        },
        _ => bad("use a list of policies"),
    }
}

/// A count of at least 1 that a double can represent exactly.
struct Count(u64);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        if (1..MAX_EXACT_INTEGER).contains(&number) {
            return Ok(Self(number));
        }
        Err(D::Error::invalid_value(Unexpected::Unsigned(number), &"a number from 1 to 2^53 - 1"))
    }
}

/// Bytes, at least 1; as a number, or as text with a unit.
struct Size(u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl Visitor<'_> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes, from 1 to 2^53 - 1, or text with a unit such as \"64MiB\"")
    }

    fn visit_u64<E: serde::de::Error>(self, bytes: u64) -> Result<Size, E> {
        let in_range = (1..MAX_EXACT_INTEGER).contains(&bytes);
        in_range.then_some(Size(bytes)).ok_or_else(|| E::invalid_value(Unexpected::Unsigned(bytes), &self))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Size, E> {
        self.visit_u64(size::parse(text).map_err(E::custom)?)
    }
}
