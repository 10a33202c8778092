//! That flows of one priority that wait get calls by their weights, and none while one of a higher priority waits.

use std::collections::{BTreeMap, BTreeSet};

use super::ledger::Flow;
use super::rules::Rules;

/// The calls of each flow, and how far apart two came while both waited.
#[derive(Default)]
pub struct Order {
    /// Calls per weight, since the first one.
    calls: BTreeMap<Flow, f64>,
    /// Of two that wait since: the least and the most that the first one got more than the second.
    apart: BTreeMap<(Flow, Flow), [f64; 2]>,
    /// Somebody changed the keys by hand: until nothing waits, nobody is sure to get a turn.
    is_lost: bool,
}

impl Order {
    /// It counts from here on.
    pub fn begin(&mut self) {
        self.calls.clear();
        self.apart.clear();
    }

    pub fn lose(&mut self) {
        self.begin();
        self.is_lost = true;
    }

    /// Nothing waits.
    pub fn see_empty(&mut self) {
        self.is_lost = false;
    }

    /// One take's calls. `waiting`: those that waited before it, and do after it, and may be called.
    pub fn take(&mut self, calls: &BTreeMap<Flow, usize>, waiting: &BTreeSet<Flow>, rules: &Rules) {
        if self.is_lost || !rules.takes_turns() {
            return self.begin();
        }
        for flow in calls.keys() {
            let first = waiting.iter().find(|waits| waits.rank < flow.rank);
            assert!(first.is_none(), "{flow:?} was called while {first:?} waits: {calls:?}");
        }
        self.apart.retain(|(a, b), _| waiting.contains(a) && waiting.contains(b));
        self.note(waiting);
        for (flow, calls) in calls {
            *self.calls.entry(flow.clone()).or_default() += *calls as f64 / weight(flow, rules);
        }
        self.note(waiting);
        for ((a, b), [least, most]) in &self.apart {
            // Twice the bound: at first one of them may have been as far behind as it may come to be ahead.
            let bound = 2.0 / weight(a, rules) + 2.0 / weight(b, rules);
            assert!(most - least <= bound + 1e-3, "{} per weight between {a:?} and {b:?}: {bound}", most - least);
        }
    }

    fn note(&mut self, waiting: &BTreeSet<Flow>) {
        let of = |flow: &Flow| self.calls.get(flow).copied().unwrap_or_default();
        for a in waiting {
            for b in waiting.range(a..).skip(1).filter(|b| b.rank == a.rank) {
                let apart = of(a) - of(b);
                let noted = self.apart.entry((a.clone(), b.clone())).or_insert([apart, apart]);
                *noted = [noted[0].min(apart), noted[1].max(apart)];
            }
        }
    }
}

fn weight(flow: &Flow, rules: &Rules) -> f64 {
    rules.weights.get(flow.owner.name.as_str()).copied().map_or(1.0, f64::from)
}
