//! Checks that waiting flows of one priority get calls by their weights, and none while a higher priority waits.

use std::collections::{BTreeMap, BTreeSet};

use super::ledger::Flow;
use super::rules::Rules;

/// The calls of each flow, and the differences between two flows that both waited.
#[derive(Default)]
pub struct Order {
    /// Calls per weight, since the first call.
    calls: BTreeMap<Flow, f64>,
    /// How much more the first of two flows got than the second while both waited: minimum and maximum.
    apart: BTreeMap<(Flow, Flow), [f64; 2]>,
    /// How much more the second of two flows had got than the first since the first waits: the minimum. The second may
    /// come and go.
    behind: BTreeMap<(Flow, Flow), f64>,
    /// Whether somebody changed the keys by hand: until nothing waits, no flow is sure to get a turn.
    is_lost: bool,
}

impl Order {
    /// Begins to count calls.
    pub fn begin(&mut self) {
        self.calls.clear();
        self.apart.clear();
        self.behind.clear();
    }

    pub fn lose(&mut self) {
        self.begin();
        self.is_lost = true;
    }

    /// To be called when nothing waits.
    pub fn see_empty(&mut self) {
        self.is_lost = false;
    }

    /// Checks the calls of one take. `waiting`: the flows that waited before and after it, and may be called.
    pub fn take(&mut self, calls: &BTreeMap<Flow, usize>, waiting: &BTreeSet<Flow>, rules: &Rules) {
        if self.is_lost || !rules.has_fair_queuing() {
            return self.begin();
        }
        for flow in calls.keys() {
            let first = waiting.iter().find(|waits| waits.rank < flow.rank);
            assert!(first.is_none(), "{flow:?} was called while {first:?} waits: {calls:?}");
        }
        self.apart.retain(|(a, b), _| waiting.contains(a) && waiting.contains(b));
        self.behind.retain(|(waits, _), _| waiting.contains(waits));
        for flow in calls.keys() {
            self.calls.entry(flow.clone()).or_default();
        }
        self.note(waiting);
        for (flow, calls) in calls {
            *self.calls.entry(flow.clone()).or_default() += *calls as f64 / weight(flow, rules);
        }
        self.note(waiting);
        for ((a, b), [least, most]) in &self.apart {
            // Twice the bound: a flow may have been behind by the bound at first, and be ahead by it later.
            let bound = 2.0 / weight(a, rules) + 2.0 / weight(b, rules);
            assert!(most - least <= bound + 1e-3, "{} per weight between {a:?} and {b:?}: {bound}", most - least);
        }
        for ((waits, other), least) in &self.behind {
            let gained = self.of(other) - self.of(waits) - least;
            let bound = 2.0 / weight(waits, rules) + 2.0 / weight(other, rules);
            assert!(gained <= bound + 1e-3, "{other:?} gains {gained} while {waits:?} waits: {bound}");
        }
    }

    fn of(&self, flow: &Flow) -> f64 {
        self.calls.get(flow).copied().unwrap_or_default()
    }

    fn note(&mut self, waiting: &BTreeSet<Flow>) {
        for a in waiting {
            for b in self.calls.keys().filter(|b| b.rank == a.rank && *b != a) {
                let ahead = self.of(b) - self.of(a);
                let least = self.behind.entry((a.clone(), b.clone())).or_insert(ahead);
                *least = least.min(ahead);
            }
            for b in waiting.range(a..).skip(1).filter(|b| b.rank == a.rank) {
                let apart = self.of(a) - self.of(b);
                let noted = self.apart.entry((a.clone(), b.clone())).or_insert([apart, apart]);
                *noted = [noted[0].min(apart), noted[1].max(apart)];
            }
        }
    }
}

fn weight(flow: &Flow, rules: &Rules) -> f64 {
    rules.weights.get(flow.owner.name.as_str()).copied().map_or(1.0, f64::from)
}
