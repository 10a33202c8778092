//! What each caller, or group, may be called: checked, and as the scripts take it.

use dripfeed_limit::Tier;
use serde_json::{Map, Value as Json, json};

use crate::pace::with_room_for_late;
use crate::settings::Leak;
use crate::settings::fair::{Fair, FairBy};
use crate::settings::flow_bounds::FlowBounds;

impl Fair {
    /// What is wrong with rates and bursts, in a sentence; None when nothing is.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
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
        self.bounds.rate.is_some() || self.flows.iter().any(|(_, flow)| flow.rate.is_some())
    }

    /// What each may, as the scripts take it (bounds.lua); empty where nobody is bounded.
    pub(crate) fn packed_bounds(&self) -> String {
        if !self.is_bounded() {
            return String::new();
        }
        let of: Map<_, _> = self
            .flows
            .iter()
            .map(|(name, flow)| (name.clone(), packed(&flow.over(&self.bounds), flow.paused)))
            .collect();
        json!({ "each": packed(&self.bounds, false), "of": of }).to_string()
    }

    /// Where all jobs wait in one line, nobody is.
    pub(crate) fn is_bounded(&self) -> bool {
        let is_named = || self.flows.iter().any(|(_, flow)| flow.paused || flow.max_in_flight.is_some());
        self.by != FairBy::Off && (self.has_rate() || self.bounds.max_in_flight.is_some() || is_named())
    }
}

fn packed(bounds: &FlowBounds, paused: bool) -> Json {
    let mut packed = Map::new();
    if let Some(rate) = bounds.rate {
        // A call begins a little after it was granted, as for the pace.
        let tier = with_room_for_late(&Tier::of_rate(rate, bounds.burst));
        packed.insert("limit".to_owned(), rate.limit().into());
        packed.insert("period".to_owned(), rate.period_us().into());
        packed.insert("burst".to_owned(), tier.most().into());
    }
    if let Some(most) = bounds.max_in_flight {
        packed.insert("most".to_owned(), most.into());
    }
    if paused {
        packed.insert("paused".to_owned(), true.into());
    }
    packed.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::flow_bounds::NamedFlows;

    fn named(text: &str) -> NamedFlows {
        serde_json::from_str(text).unwrap_or_default()
    }

    #[test]
    fn what_one_does_not_set_is_as_for_each() {
        let flows = named(r#"{"shop": {"rate": "1/s", "weight": 4}, "mail": {"paused": true}}"#);
        let bounds = FlowBounds { max_in_flight: Some(2), ..FlowBounds::default() };
        let fair = Fair { bounds, flows, ..Fair::default() };
        let packed: Json = fair.packed_bounds().parse().unwrap_or_default();
        let shop = json!({ "limit": 1, "period": 1_000_000, "burst": 1, "most": 2 });
        let of = json!({ "shop": shop, "mail": { "most": 2, "paused": true } });
        assert_eq!(packed, json!({ "each": { "most": 2 }, "of": of }));
        assert!(fair.has_rate());
        assert_eq!(Fair { by: FairBy::Off, ..fair }.packed_bounds(), "");
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
        assert_eq!(fair.fault(), None);
        let fault = Fair { flows: named(r#"{"shop": {"rate": "1/d"}}"#), ..fair }.fault();
        assert!(fault.is_some_and(|fault| fault.starts_with("`shop`: ")));
    }
}
