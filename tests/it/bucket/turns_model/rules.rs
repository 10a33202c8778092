//! The settings, in the form of the model and in that of `PATCH`.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

pub const CALLERS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// The rates of an owner's calls, and how many may be in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The rate as text, and per second.
    pub rate: Option<(&'static str, f64)>,
    pub burst: u64,
    /// Further rates: as text, per second, and the burst.
    pub tiers: &'static [(&'static str, f64, u64)],
    pub most: Option<usize>,
}

impl Bounds {
    /// The bounds of calls in a window, per second and at once: of the rate, and of each tier.
    pub fn ceilings(&self) -> Vec<Option<(f64, u64)>> {
        let of_rate = self.rate.map(|(_, per_second)| (per_second, self.burst));
        let of_tiers = self.tiers.iter().map(|(_, per_second, burst)| Some((*per_second, *burst)));
        [of_rate].into_iter().chain(of_tiers).collect()
    }

    pub fn has_rate(&self) -> bool {
        self.rate.is_some() || !self.tiers.is_empty()
    }

    pub fn tiers(&self) -> Json {
        self.tiers.iter().map(|(rate, _, burst)| json!({ "rate": rate, "burst": burst })).collect()
    }
}

#[derive(Clone, Debug)]
pub struct Rules {
    pub by: &'static str,
    pub weights: BTreeMap<&'static str, u16>,
    pub each: Bounds,
    /// A named caller, its bounds, and whether it is paused.
    pub named: Option<(&'static str, Bounds, bool)>,
}

impl Default for Rules {
    fn default() -> Self {
        let each = Bounds { rate: None, burst: 1, tiers: &[], most: None };
        Self { by: "caller", weights: BTreeMap::new(), each, named: None }
    }
}

impl Rules {
    pub fn has_fair_queuing(&self) -> bool {
        self.by != "off"
    }

    /// Returns `None` if only turns limit the calls.
    pub fn bounds(&self, name: &str) -> Option<Bounds> {
        let named = self.named.filter(|(named, ..)| *named == name).map(|(_, bounds, _)| Bounds {
            rate: bounds.rate.or(self.each.rate),
            most: bounds.most.or(self.each.most),
            burst: bounds.burst,
            tiers: if bounds.tiers.is_empty() { self.each.tiers } else { bounds.tiers },
        });
        self.has_fair_queuing().then(|| named.unwrap_or(self.each))
    }

    pub fn is_paused(&self, name: &str) -> bool {
        self.has_fair_queuing() && self.named.is_some_and(|(named, _, paused)| paused && named == name)
    }

    /// Whether any calls are counted.
    pub fn is_bounded(&self) -> bool {
        let has = |bounds: Bounds| bounds.has_rate() || bounds.most.is_some();
        self.has_fair_queuing()
            && (has(self.each) || self.named.is_some_and(|(_, bounds, paused)| paused || has(bounds)))
    }

    pub fn weights(&self) -> Json {
        json!(self.weights)
    }

    pub fn flows(&self) -> Json {
        let Some((name, bounds, paused)) = self.named else { return json!({}) };
        let mut flow = json!({ "burst": bounds.burst, "paused": paused });
        if let Some((rate, _)) = bounds.rate {
            flow["rate"] = rate.into();
        }
        if !bounds.tiers.is_empty() {
            flow["tiers"] = bounds.tiers();
        }
        if let Some(most) = bounds.most {
            flow["max_in_flight"] = most.into();
        }
        json!({ name: flow })
    }
}
