//! Settings of fair queuing.

use std::collections::BTreeMap;
use std::sync::Arc;

use dripfeed_job::{Priority, Submission};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;

use crate::error::BucketError;
use crate::settings::flow_bounds::{FlowBounds, MOST_NAMED, MOST_WEIGHT, NamedFlows, name_fault};

/// Settings of fair queuing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fair {
    pub by: FairBy,
    pub weights: Weights,
    pub bounds: FlowBounds,
    pub flows: NamedFlows,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FairBy {
    /// Fair queuing by caller; jobs without a caller count as one caller's.
    #[default]
    Caller,
    /// Fair queuing by group; jobs without a group are queued by caller.
    Group,
    /// All jobs are in one queue.
    Off,
}

impl FairBy {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Group => "group",
            Self::Off => "off",
        }
    }
}

/// The weights of callers, or groups, from 1 to 1000: the calls of each for one call of weight 1. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weights(Arc<BTreeMap<String, u16>>);

impl Weights {
    /// Validates the weights.
    ///
    /// # Errors
    /// A description of the fault.
    pub fn new(weights: BTreeMap<String, u64>) -> Result<Self, String> {
        if weights.len() > MOST_NAMED {
            return Err(format!("{} callers: use at most {MOST_NAMED}", weights.len()));
        }
        let mut read = BTreeMap::new();
        for (caller, weight) in weights {
            if let Some(fault) = name_fault(&caller) {
                return Err(fault);
            }
            let sound = u16::try_from(weight).ok().filter(|weight| (1..=MOST_WEIGHT).contains(weight));
            let Some(weight) = sound else {
                return Err(format!("the weight {weight} of `{caller}` is out of range: use 1 to {MOST_WEIGHT}"));
            };
            read.insert(caller, weight);
        }
        Ok(Self(Arc::new(read)))
    }

    #[must_use]
    pub fn of(&self, caller: &str) -> u16 {
        self.0.get(caller).copied().unwrap_or(1)
    }

    pub(crate) fn to_json(&self) -> Json {
        self.0.iter().map(|(caller, weight)| (caller.clone(), Json::from(*weight))).collect()
    }
}

impl<'de> Deserialize<'de> for Weights {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(BTreeMap::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Fair {
    /// The weights as an argument of scripts (turns/weights.lua). Empty without fair queuing.
    pub(crate) fn weights_of_turns(&self) -> String {
        match self.by {
            FairBy::Caller | FairBy::Group => {
                let named = self.flows.weights().map(|(name, weight)| (name.clone(), Json::from(weight)));
                let mut weights = self.weights.to_json();
                if let Json::Object(weights) = &mut weights {
                    weights.extend(named);
                }
                weights.to_string()
            }
            FairBy::Off => String::new(),
        }
    }

    #[must_use]
    pub(crate) fn weight_of(&self, name: &str) -> u16 {
        self.flows.of(name).and_then(|flow| flow.weight).unwrap_or_else(|| self.weights.of(name))
    }

    pub(crate) fn is_paused(&self, name: &str) -> bool {
        self.flows.of(name).is_some_and(|flow| flow.paused)
    }

    /// Refuses a priority or a group that this bucket would ignore.
    pub(crate) fn refuse_unsupported(&self, submission: &Submission) -> Result<(), BucketError> {
        let is_normal = submission.priority.is_none_or(|priority| priority == Priority::Normal);
        if self.by == FairBy::Off && !is_normal {
            let why = "all jobs are in one queue; submit without a priority";
            return Err(BucketError::Turns { by: self.by.as_str(), why });
        }
        let why = match self.by {
            FairBy::Group => return Ok(()),
            FairBy::Caller => "fair queuing is by caller; submit without a group",
            FairBy::Off => "all jobs are in one queue; submit without a group",
        };
        let refused = Err(BucketError::Turns { by: self.by.as_str(), why });
        if submission.group.is_some() { refused } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Weights, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_weight_is_from_1_to_1000_and_1_where_none_is_set() {
        let weights = read(r#"{"shop": 4, "mail": 1000}"#).unwrap_or_default();
        assert_eq!(["shop", "mail", "other"].map(|caller| weights.of(caller)), [4, 1000, 1]);
        for text in [r#"{"shop": 0}"#, r#"{"shop": 1001}"#, r#"{"shop": -1}"#, r#"{"": 1}"#, r#"{"shop": "4"}"#, "[]"] {
            assert!(read(text).is_err(), "{text}");
        }
        let many = (0..101).map(|n| (n.to_string(), 1)).collect();
        assert!(Weights::new(many).is_err_and(|why| why.contains("at most 100")));
    }
}
