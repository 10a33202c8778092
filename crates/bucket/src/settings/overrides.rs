//! Settings that were changed at run time, and what they come to over the configured ones.

use dripfeed_job::{Rate, Share};
use serde_json::Value as Json;

use crate::settings::limits::BucketLimits;
use crate::settings::pace_tiers::PaceTiers;
use crate::settings::{BucketSettings, Leak};

/// None leaves a setting unchanged; `Some(None)` goes back to the configured one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    pub capacity: Option<Option<u64>>,
    pub capacity_bytes: Option<Option<u64>>,
    pub max_share: Option<Option<Share>>,
    pub limits: Option<Option<BucketLimits>>,
    pub leak: LeakOverrides,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeakOverrides {
    pub rate: Option<Option<Rate>>,
    pub burst: Option<Option<u64>>,
    pub tiers: Option<Option<PaceTiers>>,
    pub adaptive: Option<Option<bool>>,
    pub concurrency: Option<Option<u32>>,
    pub max_in_flight: Option<Option<u64>>,
}

impl Overrides {
    /// The fields of the control hash: a value to set, or None to go back.
    pub(crate) fn fields(&self) -> Vec<(&'static str, Option<String>)> {
        let text = |value: Option<Option<u64>>| value.map(|value| value.map(|number| number.to_string()));
        let leak = &self.leak;
        [
            ("capacity", text(self.capacity)),
            ("capacity_bytes", text(self.capacity_bytes)),
            ("max_share", self.max_share.map(|share| share.map(|share| share.to_string()))),
            ("limits", self.limits.as_ref().map(|limits| limits.as_ref().map(BucketLimits::text))),
            ("rate", leak.rate.map(|rate| rate.map(|rate| rate.to_string()))),
            ("burst", text(leak.burst)),
            (
                "tiers",
                leak.tiers.as_ref().map(|tiers| tiers.as_ref().map(|tiers| Json::from(tiers.written()).to_string())),
            ),
            ("adaptive", leak.adaptive.map(|adaptive| adaptive.map(|adaptive| adaptive.to_string()))),
            ("concurrency", text(leak.concurrency.map(|value| value.map(u64::from)))),
            ("max_in_flight", text(leak.max_in_flight)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
    }

    /// Reads the control hash: the settings that are changed now.
    pub(crate) fn read(fields: &[(String, String)]) -> Self {
        let get = |name: &str| fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str());
        let number = |name| get(name).and_then(|value| value.parse().ok()).map(Some);
        Self {
            capacity: number("capacity"),
            capacity_bytes: number("capacity_bytes"),
            max_share: get("max_share").and_then(|share| share.parse().ok()).map(Some),
            limits: get("limits").and_then(BucketLimits::of_text).map(Some),
            leak: LeakOverrides {
                rate: get("rate").and_then(|rate| rate.parse().ok()).map(Some),
                burst: number("burst"),
                tiers: get("tiers").and_then(read_tiers).map(Some),
                adaptive: get("adaptive").and_then(|value| value.parse().ok()).map(Some),
                concurrency: get("concurrency").and_then(|value| value.parse().ok()).map(Some),
                max_in_flight: number("max_in_flight"),
            },
        }
    }
}

fn read_tiers(text: &str) -> Option<PaceTiers> {
    PaceTiers::read("tiers", serde_json::from_str(text).ok()?).ok()
}

impl Overrides {
    /// The configured settings with these changes.
    pub(crate) fn over(&self, configured: &BucketSettings) -> BucketSettings {
        BucketSettings {
            capacity: self.capacity.flatten().unwrap_or(configured.capacity),
            capacity_bytes: self.capacity_bytes.flatten().unwrap_or(configured.capacity_bytes),
            max_share: self.max_share.flatten().or(configured.max_share),
            leak: self.leak.over(&configured.leak),
            ..configured.clone()
        }
    }
}

impl LeakOverrides {
    fn over(&self, configured: &Leak) -> Leak {
        Leak {
            rate: self.rate.flatten().or(configured.rate),
            burst: self.burst.flatten().unwrap_or(configured.burst),
            tiers: self.tiers.clone().flatten().unwrap_or_else(|| configured.tiers.clone()),
            adaptive: self.adaptive.flatten().unwrap_or(configured.adaptive),
            concurrency: self.concurrency.flatten().unwrap_or(configured.concurrency),
            max_in_flight: self.max_in_flight.flatten().or(configured.max_in_flight),
            ..configured.clone()
        }
    }
}
