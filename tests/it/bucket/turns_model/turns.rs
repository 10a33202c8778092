//! That those who wait at one level are called by their weights.
//!
//! Where a flow waits all the time and may be called, any other of its level gets no more calls, per weight, than it
//! does: but for one call of each, which may be ahead at the beginning, and one of each at the end. So who comes and
//! goes, or was throttled, has gained nothing by that.

use std::collections::{BTreeMap, BTreeSet};

use super::ledger::Flow;
use super::rules::Rules;

/// What is lost in sums, and by how much newcomers begin one behind the other.
const TOLERANCE: f64 = 0.01;

#[derive(Default)]
pub struct Turns {
    /// Calls of each, divided by its weight, since these are counted.
    served: BTreeMap<Flow, f64>,
    /// Of those that wait all the time: since when.
    waiting: BTreeMap<Flow, Since>,
    /// Since the weights were changed, those that weren't called: by how much each may be ahead.
    ahead: BTreeMap<Flow, f64>,
    /// How many takes have to pass until all that waits is sorted again.
    unsorted: usize,
}

struct Since {
    /// By how much this one may have been ahead.
    ahead: f64,
    /// The least that each other one had got more than this one, since.
    least: BTreeMap<Flow, f64>,
}

impl Turns {
    /// Before the weights change.
    pub fn weigh_again(&mut self, flows: &BTreeSet<Flow>, rules: &Rules) {
        // Also of those that have nothing now, and keep their place.
        let known: BTreeSet<_> = flows.iter().chain(self.served.keys()).chain(self.ahead.keys()).cloned().collect();
        for flow in known {
            let before = 1.0 / rules.weight(&flow.owner.name);
            let ahead = self.ahead.entry(flow).or_default();
            *ahead = ahead.max(before);
        }
        self.served.clear();
        self.waiting.clear();
    }

    /// Where each stands is forgotten.
    pub fn forget(&mut self, jobs: usize) {
        self.served.clear();
        self.waiting.clear();
        self.unsorted = jobs / 50 + 3;
    }

    pub fn is_sorted(&self) -> bool {
        self.unsorted == 0
    }

    /// After a take: what it called, and who surely waits, and may be called, since before and still.
    pub fn take(
        &mut self,
        calls: &BTreeMap<Flow, usize>,
        waits: &BTreeSet<Flow>,
        still: &BTreeSet<Flow>,
        rules: &Rules,
    ) {
        self.unsorted = self.unsorted.saturating_sub(1);
        if self.unsorted > 0 {
            return;
        }
        let before = self.served.clone();
        let of = |served: &BTreeMap<Flow, f64>, flow| served.get(flow).copied().unwrap_or_default();
        for (flow, calls) in calls {
            *self.served.entry(flow.clone()).or_default() += *calls as f64 / rules.weight(&flow.owner.name);
            self.ahead.remove(flow);
            let higher = still.iter().find(|other| waits.contains(other) && other.goes_before(flow));
            assert!(higher.is_none(), "{flow:?} was called, and {higher:?} waits");
        }
        self.waiting.retain(|flow, _| still.contains(flow));
        for (flow, since) in &mut self.waiting {
            let own = of(&self.served, flow);
            for (other, served) in self.served.iter().filter(|(other, _)| other.rank == flow.rank && *other != flow) {
                let more = served - own;
                // One that had no call yet had the least before its first one.
                let least = since.least.entry(other.clone());
                let least = least.or_insert_with(|| of(&before, other) - of(&before, flow));
                let bound = 2.0 / rules.weight(&other.owner.name) + 2.0 / rules.weight(&flow.owner.name) + since.ahead;
                let gained = more - *least;
                assert!(
                    gained <= bound + TOLERANCE,
                    "{other:?} got {gained} calls per weight more than {flow:?}, which waits: {bound} is the most"
                );
                *least = least.min(more);
            }
        }
        self.begin(still);
    }

    fn begin(&mut self, still: &BTreeSet<Flow>) {
        for flow in still {
            if self.waiting.contains_key(flow) {
                continue;
            }
            let own = self.served.get(flow).copied().unwrap_or_default();
            let least = self.served.iter().map(|(other, served)| (other.clone(), served - own)).collect();
            let ahead = self.ahead.get(flow).copied().unwrap_or_default();
            self.waiting.insert(flow.clone(), Since { ahead, least });
        }
    }
}
