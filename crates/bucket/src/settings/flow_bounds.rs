//! Rate and concurrency limits of each caller, or group.

use std::collections::BTreeMap;
use std::sync::Arc;

use dripfeed_job::rate::MAX_EXACT_INTEGER;
use dripfeed_job::{Rate, expected};
use dripfeed_limit::{LoadError, LoadFault};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};

use crate::settings::flow_tiers::FlowTiers;
use crate::settings::own_limit::OwnLimit;

/// Maximum number of callers, or groups, with an entry. Each take reads all of them.
pub(crate) const MOST_NAMED: usize = 100;
pub(crate) const MOST_WEIGHT: u16 = 1000;
/// Maximum bytes of a name, as in the entry of a job.
const LONGEST_NAME: usize = 256;

pub(crate) fn name_fault(name: &str) -> Option<String> {
    let is_sound = (1..=LONGEST_NAME).contains(&name.len());
    (!is_sound).then(|| format!("a caller's name must have 1 to {LONGEST_NAME} bytes"))
}

/// The limits of each caller, or group, that has no entry in `flows`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowBounds {
    /// The rate limit of each, over all replicas. `None`: no limit.
    pub rate: Option<Rate>,
    /// At least 1. Ignored without a rate.
    pub burst: u64,
    /// Further rate limits.
    pub tiers: FlowTiers,
    /// Maximum concurrent calls of each, over all replicas.
    pub max_in_flight: Option<u64>,
}

impl Default for FlowBounds {
    fn default() -> Self {
        Self { rate: None, burst: 1, tiers: FlowTiers::default(), max_in_flight: None }
    }
}

/// The settings of one caller, or group. Omitted limits are those of [`FlowBounds`]; `none`: no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object of weight, rate, burst, tiers, max_in_flight and paused")]
pub struct NamedFlow {
    #[serde(default, deserialize_with = "weight")]
    pub weight: Option<u16>,
    #[serde(default)]
    pub rate: OwnLimit<Rate>,
    #[serde(default, deserialize_with = "count")]
    pub burst: Option<u64>,
    /// Replaces all tiers of [`FlowBounds`].
    #[serde(default)]
    pub tiers: Option<FlowTiers>,
    #[serde(default)]
    pub max_in_flight: OwnLimit<u64>,
    /// Whether its jobs are not called until it is resumed.
    #[serde(default)]
    pub paused: bool,
}

/// The settings of single callers, or groups, by name. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedFlows(Arc<BTreeMap<String, NamedFlow>>);

impl NamedFlows {
    /// Validates the names.
    ///
    /// # Errors
    /// A description of the fault.
    pub fn new(flows: BTreeMap<String, NamedFlow>) -> Result<Self, String> {
        if flows.len() > MOST_NAMED {
            return Err(format!("{} callers: use at most {MOST_NAMED}", flows.len()));
        }
        match flows.keys().find_map(|name| name_fault(name)) {
            Some(fault) => Err(fault),
            None => Ok(Self(Arc::new(flows))),
        }
    }

    /// Reads an object that is part of another document, where its name is `place`.
    ///
    /// # Errors
    /// Each fault with its place.
    pub(crate) fn read(place: &str, written: &Json) -> Result<Self, LoadError> {
        let plain = |error: &serde_json::Error| expected::plain(&error.to_string());
        let mut faults = Vec::new();
        for (name, flow) in written.as_object().into_iter().flatten() {
            let place = format!("{place}.{name}");
            match flow.get("tiers").map(|tiers| FlowTiers::read(&format!("{place}.tiers"), tiers.clone())) {
                Some(Err(error)) => faults.extend_from_slice(error.faults()),
                Some(Ok(_)) | None => {
                    let fault = NamedFlow::deserialize(flow).err();
                    faults.extend(fault.map(|error| LoadFault { place, message: plain(&error) }));
                }
            }
        }
        if faults.is_empty() {
            let whole = |message| LoadFault { place: place.to_owned(), message };
            return Self::deserialize(written).map_err(|error| LoadError::new(vec![whole(plain(&error))]));
        }
        Err(LoadError::new(faults))
    }

    #[must_use]
    pub fn of(&self, name: &str) -> Option<&NamedFlow> {
        self.0.get(name)
    }

    pub(crate) fn weights(&self) -> impl Iterator<Item = (&String, u16)> {
        self.0.iter().filter_map(|(name, flow)| Some((name, flow.weight?)))
    }

    pub(crate) fn to_json(&self) -> Json {
        self.0.iter().map(|(name, flow)| (name.clone(), flow.to_json())).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &NamedFlow)> {
        self.0.iter()
    }
}

impl<'de> Deserialize<'de> for NamedFlows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(BTreeMap::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl NamedFlow {
    pub(crate) fn over(&self, each: &FlowBounds) -> FlowBounds {
        FlowBounds {
            rate: self.rate.over(each.rate),
            burst: self.burst.unwrap_or(each.burst),
            tiers: self.tiers.clone().unwrap_or_else(|| each.tiers.clone()),
            max_in_flight: self.max_in_flight.over(each.max_in_flight),
        }
    }

    fn to_json(&self) -> Json {
        let members = [
            ("weight", self.weight.map(Json::from)),
            ("rate", self.rate.to_json()),
            ("burst", self.burst.map(Json::from)),
            ("tiers", self.tiers.as_ref().map(FlowTiers::to_json)),
            ("max_in_flight", self.max_in_flight.to_json()),
            ("paused", self.paused.then_some(Json::from(true))),
        ];
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect::<Map<_, _>>().into()
    }
}

fn weight<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u16>, D::Error> {
    let Some(weight) = Option::<u64>::deserialize(from)? else { return Ok(None) };
    let sound = u16::try_from(weight).ok().filter(|weight| (1..=MOST_WEIGHT).contains(weight));
    let out_of_range = || D::Error::custom(format!("the weight is out of range: use 1 to {MOST_WEIGHT}"));
    sound.map(Some).ok_or_else(out_of_range)
}

fn count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let count: Option<u64> = Option::deserialize(from)?;
    let is_sound = count.is_none_or(|count| (1..MAX_EXACT_INTEGER).contains(&count));
    is_sound.then_some(count).ok_or_else(|| D::Error::custom("use a number from 1 to 2^53 - 1"))
}

#[cfg(test)]
mod tests;
