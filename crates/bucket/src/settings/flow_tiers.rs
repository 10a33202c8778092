//! Further rate limits of each caller, or group, such as a daily quota.

use std::sync::Arc;

use dripfeed_job::{Rate, expected};
use dripfeed_limit::{LoadError, LoadFault};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value as Json, json};

use crate::settings::burst;

/// Maximum number of tiers. Few, because each is counted for each caller.
const MOST: usize = 4;

/// A rate, and the calls that may start at once after an idle time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "WrittenTier")]
pub struct FlowTier {
    pub rate: Rate,
    /// At least 1.
    pub burst: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a tier such as { rate = \"1000/d\", burst = 1000 }")]
struct WrittenTier {
    rate: Rate,
    #[serde(default = "one")]
    burst: u64,
}

const fn one() -> u64 {
    1
}

impl TryFrom<WrittenTier> for FlowTier {
    type Error = String;

    fn try_from(WrittenTier { rate, burst }: WrittenTier) -> Result<Self, String> {
        burst::fault(Some(rate), burst).map_or(Ok(Self { rate, burst }), Err)
    }
}

/// Rate limits that a call must all pass. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowTiers(Arc<[FlowTier]>);

impl FlowTiers {
    /// Maximum number of tiers in addition to the rate.
    pub const MOST: usize = MOST;

    /// Validates the tiers.
    ///
    /// # Errors
    /// A description of the fault.
    pub fn new(tiers: Vec<FlowTier>) -> Result<Self, String> {
        if tiers.len() > MOST {
            return Err(format!("{} tiers: use at most {MOST}", tiers.len()));
        }
        Ok(Self(tiers.into()))
    }

    /// Reads a list that is part of another document, where its name is `place`.
    ///
    /// # Errors
    /// Each fault with its place.
    pub fn read(place: &str, written: Json) -> Result<Self, LoadError> {
        let whole = |message| LoadError::new(vec![LoadFault { place: place.to_owned(), message }]);
        let Json::Array(items) = written else { return Err(whole("use a list of tiers".to_owned())) };
        let (mut tiers, mut faults) = (Vec::new(), Vec::new());
        for (at, item) in items.into_iter().enumerate() {
            match serde_json::from_value(item) {
                Ok(tier) => tiers.push(tier),
                Err(error) => {
                    let message = expected::plain(&error.to_string());
                    faults.push(LoadFault { place: format!("{place}[{at}]"), message });
                }
            }
        }
        if faults.is_empty() { Self::new(tiers).map_err(whole) } else { Err(LoadError::new(faults)) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &FlowTier> {
        self.0.iter()
    }

    pub(crate) fn to_json(&self) -> Json {
        self.iter().map(|tier| json!({ "rate": tier.rate.to_string(), "burst": tier.burst })).collect()
    }
}

impl<'de> Deserialize<'de> for FlowTiers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Vec::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use dripfeed_job::rate::MAX_EXACT_INTEGER;

    use super::*;

    fn read(tiers: Json) -> Result<Json, String> {
        FlowTiers::read("fair.tiers", tiers).map(|tiers| tiers.to_json()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_tier_is_a_rate_and_a_burst_of_1_where_none_is_set() {
        let tiers = json!([{ "rate": "1000/d", "burst": 1000 }, { "rate": "30/1m" }]);
        let shown = json!([{ "burst": 1000, "rate": "1000/24h" }, { "burst": 1, "rate": "30/m" }]);
        assert_eq!(read(tiers), Ok(shown.clone()));
        assert_eq!(read(shown.clone()), Ok(shown));
        assert_eq!(read(json!([])), Ok(json!([])));
    }

    #[test]
    fn what_is_no_tier_is_refused_with_its_place() {
        for (tiers, why) in [
            (json!({ "rate": "1/s" }), "fair.tiers: use a list of tiers"),
            (json!([{ "burst": 2 }]), "fair.tiers[0]: missing field `rate`"),
            (
                json!([{ "rate": "1/s" }, { "rate": "1/s", "kind": "fixed" }]),
                "fair.tiers[1]: unknown field `kind`, expected `rate` or `burst`",
            ),
            (json!([{ "rate": "0/s" }]), "fair.tiers[0]: `0/s` allows no calls"),
            (json!([{ "rate": "1/s", "burst": 0 }]), "fair.tiers[0]: a burst of 0 allows no calls"),
            (
                json!([{ "rate": "1/s", "burst": MAX_EXACT_INTEGER }]),
                "fair.tiers[0]: a burst of 9007199254740992 at 1/s can't",
            ),
            (json!(vec![json!({ "rate": "1/s" }); 5]), "fair.tiers: 5 tiers: use at most 4"),
        ] {
            let fault = read(tiers).err().unwrap_or_default();
            assert!(fault.starts_with(why), "{fault}: {why}");
        }
    }
}
