//! Rate and concurrency limits of each caller, or group: validated, and packed for scripts.

use dripfeed_job::Rate;
use dripfeed_limit::Tier;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::{Map, Value as Json, json};

use crate::pace::with_room_for_late;
use crate::settings::Leak;
use crate::settings::fair::{Fair, FairBy, Weights};
use crate::settings::flow_bounds::{FlowBounds, NamedFlow, NamedFlows};
use crate::settings::flow_tiers::FlowTier;

/// In a name: what would end it, or a line.
const ESCAPED: &AsciiSet = &CONTROLS.add(b' ').add(b'%');

/// Returns the faults of settings of fair queuing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FairFault {
    /// Of which setting of `fair`.
    pub setting: &'static str,
    /// In a sentence.
    pub why: String,
}

impl Fair {
    /// What is wrong with settings that are each valid alone.
    pub fn faults(&self) -> impl Iterator<Item = FairFault> {
        let burst = self.burst_fault().map(|why| FairFault { setting: "burst", why });
        // One line of all jobs has nobody of whom more could be asked, or to whom more could be given, than of others.
        let is_bounded = self.bounds != FlowBounds::default() || self.flows != NamedFlows::default();
        let has_effect = is_bounded || self.weights != Weights::default();
        let off = (self.by == FairBy::Off && has_effect).then(|| FairFault {
            setting: "by",
            why: "weights, rate, burst, tiers, max_in_flight and flows of [fair] need fair queuing: use by = \
                \"caller\" or \"group\", or remove them"
                .to_owned(),
        });
        burst.into_iter().chain(off)
    }

    fn burst_fault(&self) -> Option<String> {
        let of_each = Leak::fault(self.bounds.rate, self.bounds.burst);
        of_each.or_else(|| {
            self.flows.iter().find_map(|(name, flow)| {
                let bounds = flow.over(&self.bounds);
                Leak::fault(bounds.rate, bounds.burst).map(|fault| format!("`{name}`: {fault}"))
            })
        })
    }

    /// Whether anybody may be called only so fast.
    pub(crate) fn has_rate(&self) -> bool {
        let has_tiers = |flow: &NamedFlow| flow.tiers.as_ref().is_some_and(|tiers| !tiers.is_empty());
        let of_each = self.bounds.rate.is_some() || !self.bounds.tiers.is_empty();
        of_each || self.flows.iter().any(|(_, flow)| flow.rate.is_limit() || has_tiers(flow))
    }

    /// The most tiers that anybody has.
    pub(crate) fn most_tiers(&self) -> usize {
        let of_some = self.flows.iter().filter_map(|(_, flow)| flow.tiers.as_ref());
        of_some.chain([&self.bounds.tiers]).map(|tiers| tiers.iter().count()).max().unwrap_or_default()
    }

    /// What each may, as the scripts take it (limits_of.lua); empty where nobody is bounded.
    pub(crate) fn packed_bounds(&self) -> String {
        if !self.is_bounded() {
            return String::new();
        }
        let named = self.flows.iter().map(|(name, flow)| {
            let name = utf8_percent_encode(name, ESCAPED);
            format!("\n{name} {}", packed(&flow.over(&self.bounds), flow.paused))
        });
        [packed(&self.bounds, false).to_string()].into_iter().chain(named).collect()
    }

    /// Where all jobs wait in one line, nobody is.
    pub(crate) fn is_bounded(&self) -> bool {
        let is_named = || self.flows.iter().any(|(_, flow)| flow.paused || flow.max_in_flight.is_limit());
        self.by != FairBy::Off && (self.has_rate() || self.bounds.max_in_flight.is_some() || is_named())
    }
}

fn packed(bounds: &FlowBounds, paused: bool) -> Json {
    let mut packed = Map::new();
    if bounds.rate.is_some() || !bounds.tiers.is_empty() {
        // What was used is kept by the place in this list: the rate has the first one also where none is set.
        let rate = bounds.rate.map_or(Json::from(false), |rate| packed_rate(rate, bounds.burst));
        let tiers = bounds.tiers.iter().map(|FlowTier { rate, burst }| packed_rate(*rate, *burst));
        packed.insert("rates".to_owned(), [rate].into_iter().chain(tiers).collect());
    }
    if let Some(most) = bounds.max_in_flight {
        packed.insert("most".to_owned(), most.into());
    }
    if paused {
        packed.insert("paused".to_owned(), true.into());
    }
    packed.into()
}

/// A call begins a little after it was granted, as for the pace.
fn packed_rate(rate: Rate, burst: u64) -> Json {
    let burst = with_room_for_late(&Tier::of_rate(rate, burst)).most();
    json!({ "limit": rate.limit(), "period": rate.period_us(), "burst": burst })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> NamedFlows {
        serde_json::from_str(text).unwrap_or_default()
    }

    #[test]
    fn what_one_does_not_set_is_as_for_each() {
        let flows = named(r#"{"shop": {"rate": "1/s", "weight": 4}, "mail": {"paused": true}}"#);
        let bounds = FlowBounds { max_in_flight: Some(2), ..FlowBounds::default() };
        let fair = Fair { bounds, flows, ..Fair::default() };
        let shop = json!({ "rates": [{ "limit": 1, "period": 1_000_000, "burst": 1 }], "most": 2 });
        let mail = json!({ "most": 2, "paused": true });
        assert_eq!(fair.packed_bounds(), format!("{}\nmail {mail}\nshop {shop}", json!({ "most": 2 })));
        assert!(fair.has_rate());
        assert_eq!(Fair { by: FairBy::Off, ..fair }.packed_bounds(), "");
    }

    #[test]
    fn a_tier_has_its_place_behind_that_of_the_rate() {
        let tiers = serde_json::from_str(r#"[{"rate": "1000/h", "burst": 9}]"#).unwrap_or_default();
        let bounds = FlowBounds { tiers, ..FlowBounds::default() };
        let flows = named(r#"{"shop": {"rate": "1/s"}, "free": {"tiers": []}}"#);
        let fair = Fair { bounds, flows, ..Fair::default() };
        let tier = json!({ "limit": 1000, "period": 3_600_000_000_u64, "burst": 9 });
        let rate = json!({ "limit": 1, "period": 1_000_000, "burst": 1 });
        let (each, shop) = (json!({ "rates": [false, tier] }), json!({ "rates": [rate, tier] }));
        assert_eq!(fair.packed_bounds(), format!("{each}\nfree {{}}\nshop {shop}"));
        assert!(fair.has_rate());
        assert_eq!(fair.most_tiers(), 1);
        let flows = named(r#"{"shop": {"tiers": [{"rate": "1/s"}]}}"#);
        assert!(Fair { bounds: FlowBounds::default(), flows, ..fair }.has_rate());
    }

    #[test]
    fn no_name_is_taken_for_a_line() {
        let flows = named(r#"{"a\nb {\"most\":9}": {"paused": true}, "ä%": {"paused": true}}"#);
        let packed = Fair { flows, ..Fair::default() }.packed_bounds();
        let paused = json!({ "paused": true });
        assert_eq!(packed, format!("{{}}\na%0Ab%20{{\"most\":9}} {paused}\n%C3%A4%25 {paused}"));
    }

    #[test]
    fn where_nobody_is_bounded_the_scripts_are_given_nothing() {
        let fair = Fair { flows: named(r#"{"shop": {"weight": 4}}"#), ..Fair::default() };
        assert_eq!(fair.packed_bounds(), "");
    }

    #[test]
    fn a_burst_that_cannot_be_counted_is_refused() {
        let bounds = FlowBounds { burst: 1 << 52, ..FlowBounds::default() };
        let fair = Fair { bounds, ..Fair::default() };
        assert_eq!(fair.faults().next(), None);
        let fair = Fair { flows: named(r#"{"shop": {"rate": "1/d"}}"#), ..fair };
        assert!(fair.faults().any(|fault| fault.setting == "burst" && fault.why.starts_with("`shop`: ")));
    }
}
