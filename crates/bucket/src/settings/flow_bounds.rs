//! How fast each caller, or group, may be called, and how many of its calls may be under way.

use std::collections::BTreeMap;
use std::sync::Arc;

use dripfeed_job::Rate;
use dripfeed_job::rate::EXACT;
use dripfeed_limit::Tier;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json, json};

use crate::pace::with_room_for_late;
use crate::settings::Leak;
use crate::settings::fair::{MOST_NAMED, MOST_WEIGHT, name_fault};

/// What holds for each, unless it is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowBounds {
    /// Calls of each, over all replicas. None: as many as its turns let through.
    pub rate: Option<Rate>,
    /// At least 1. Without a rate it means nothing.
    pub burst: u64,
    /// Calls of each under way at once, over all replicas.
    pub max_in_flight: Option<u64>,
}

impl Default for FlowBounds {
    fn default() -> Self {
        Self { rate: None, burst: 1, max_in_flight: None }
    }
}

/// What is set for one caller, or group; what isn't is as for each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object of weight, rate, burst, max_in_flight and paused")]
pub struct NamedFlow {
    #[serde(default, deserialize_with = "weight")]
    pub weight: Option<u16>,
    #[serde(default)]
    pub rate: Option<Rate>,
    #[serde(default, deserialize_with = "count")]
    pub burst: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    pub max_in_flight: Option<u64>,
    /// None of its jobs is called until it isn't.
    #[serde(default)]
    pub paused: bool,
}

/// Callers, or groups, for which something else is set than for each, by their names. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedFlows(Arc<BTreeMap<String, NamedFlow>>);

impl NamedFlows {
    /// # Errors
    /// What is wrong, in words.
    pub fn new(flows: BTreeMap<String, NamedFlow>) -> Result<Self, String> {
        if flows.len() > MOST_NAMED {
            return Err(format!("{} callers: use at most {MOST_NAMED}", flows.len()));
        }
        match flows.keys().find_map(|name| name_fault(name)) {
            Some(fault) => Err(fault),
            None => Ok(Self(Arc::new(flows))),
        }
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

    fn bounds(&self) -> impl Iterator<Item = (&String, &NamedFlow)> {
        self.0.iter().filter(|(_, flow)| flow.paused || flow.rate.is_some() || flow.max_in_flight.is_some())
    }
}

impl<'de> Deserialize<'de> for NamedFlows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(BTreeMap::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl NamedFlow {
    fn over(&self, each: &FlowBounds) -> FlowBounds {
        FlowBounds {
            rate: self.rate.or(each.rate),
            burst: self.burst.unwrap_or(each.burst),
            max_in_flight: self.max_in_flight.or(each.max_in_flight),
        }
    }

    fn to_json(&self) -> Json {
        let members = [
            ("weight", self.weight.map(Json::from)),
            ("rate", self.rate.map(|rate| Json::from(rate.to_string()))),
            ("burst", self.burst.map(Json::from)),
            ("max_in_flight", self.max_in_flight.map(Json::from)),
            ("paused", self.paused.then_some(Json::from(true))),
        ];
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect::<Map<_, _>>().into()
    }
}

impl FlowBounds {
    /// What is wrong with rates and bursts, in a sentence; None when nothing is.
    #[must_use]
    pub fn fault(&self, named: &NamedFlows) -> Option<String> {
        let of_each = Leak::fault(self.rate, self.burst);
        of_each.or_else(|| {
            named.0.iter().find_map(|(name, flow)| {
                let bounds = flow.over(self);
                Leak::fault(bounds.rate, bounds.burst).map(|fault| format!("`{name}`: {fault}"))
            })
        })
    }

    /// Whether anybody may be called only so fast.
    pub(crate) fn has_rate(&self, named: &NamedFlows) -> bool {
        self.rate.is_some() || named.0.values().any(|flow| flow.rate.is_some())
    }

    /// As the scripts take them (bounds.lua); empty where nobody is bounded.
    pub(crate) fn pack(&self, named: &NamedFlows) -> String {
        if self.rate.is_none() && self.max_in_flight.is_none() && named.bounds().next().is_none() {
            return String::new();
        }
        let of: Map<_, _> =
            named.0.iter().map(|(name, flow)| (name.clone(), flow.over(self).packed(flow.paused))).collect();
        json!({ "each": self.packed(false), "of": of }).to_string()
    }

    fn packed(&self, paused: bool) -> Json {
        let mut packed = Map::new();
        if let Some(rate) = self.rate {
            // A call begins a little after it was granted, as for the pace.
            let tier = with_room_for_late(&Tier::of_rate(rate, self.burst));
            packed.insert("limit".to_owned(), rate.limit().into());
            packed.insert("period".to_owned(), rate.period_us().into());
            packed.insert("burst".to_owned(), tier.most().into());
        }
        if let Some(most) = self.max_in_flight {
            packed.insert("most".to_owned(), most.into());
        }
        if paused {
            packed.insert("paused".to_owned(), true.into());
        }
        packed.into()
    }
}

fn weight<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u16>, D::Error> {
    let weight: Option<u16> = Option::deserialize(from)?;
    let is_sound = weight.is_none_or(|weight| (1..=MOST_WEIGHT).contains(&weight));
    is_sound.then_some(weight).ok_or_else(|| D::Error::custom(format!("a weight is from 1 to {MOST_WEIGHT}")))
}

fn count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let count: Option<u64> = Option::deserialize(from)?;
    let is_sound = count.is_none_or(|count| (1..EXACT).contains(&count));
    is_sound.then_some(count).ok_or_else(|| D::Error::custom("use a number from 1 to 2^53 - 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<NamedFlows, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn what_one_does_not_set_is_as_for_each() {
        let named = read(r#"{"shop": {"rate": "1/s", "weight": 4}, "mail": {"paused": true}}"#).unwrap_or_default();
        let each = FlowBounds { max_in_flight: Some(2), ..FlowBounds::default() };
        let packed: Json = each.pack(&named).parse().unwrap_or_default();
        let shop = json!({ "limit": 1, "period": 1_000_000, "burst": 1, "most": 2 });
        let of = json!({ "shop": shop, "mail": { "most": 2, "paused": true } });
        assert_eq!(packed, json!({ "each": { "most": 2 }, "of": of }));
        assert_eq!(read(&named.to_json().to_string()), Ok(named.clone()));
        assert!(each.has_rate(&named));
        assert_eq!(named.weights().map(|(name, weight)| (name.as_str(), weight)).collect::<Vec<_>>(), [("shop", 4)]);
    }

    #[test]
    fn where_nobody_is_bounded_the_scripts_are_given_nothing() {
        let named = read(r#"{"shop": {"weight": 4}}"#).unwrap_or_default();
        assert_eq!(FlowBounds::default().pack(&named), "");
    }

    #[test]
    fn what_would_mean_nothing_is_refused() {
        for text in [
            r#"{"": {}}"#,
            r#"{"shop": {"weight": 0}}"#,
            r#"{"shop": {"rate": "0/s"}}"#,
            r#"{"shop": {"max_in_flight": 0}}"#,
            r#"{"shop": {"burst": 0}}"#,
            r#"{"shop": {"speed": 1}}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        let most = FlowBounds { burst: 1 << 52, ..FlowBounds::default() };
        let named = read(r#"{"shop": {"rate": "1/d"}}"#).unwrap_or_default();
        assert_eq!(most.fault(&NamedFlows::default()), None);
        assert!(most.fault(&named).is_some_and(|fault| fault.starts_with("`shop`: ")));
    }
}
