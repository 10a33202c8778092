//! Checks that no owner gets more calls in any window than its rate, its burst and each of its tiers allow.

use std::collections::BTreeMap;
use std::time::Instant;

use super::ledger::Owner;
use super::rules::Rules;

/// The calls of each owner since its rate or its burst was last changed.
pub struct Windows {
    begun: Instant,
    /// By owner, and by the index of the rate among those of the owner.
    of: BTreeMap<(Owner, usize), Calls>,
    /// How much time steps of the clock may have added, in s.
    gained: f64,
}

#[derive(Default)]
struct Calls {
    ceiling: Option<(f64, u64)>,
    made: f64,
    /// The maximum over all takes of the calls that the rate allowed until the take, minus the calls before it.
    earliest: f64,
}

impl Windows {
    pub fn new() -> Self {
        Self { begun: Instant::now(), of: BTreeMap::new(), gained: 0.0 }
    }

    /// Forgets all calls, when no bound is left.
    pub fn forget(&mut self) {
        self.of.clear();
    }

    /// Forgets the calls under rates that were changed.
    pub fn change(&mut self, rules: &Rules) {
        self.of.retain(|(owner, place), calls| ceilings_of(owner, rules).get(*place) == Some(&calls.ceiling));
    }

    /// For the first take after the clock was put forward: it counts only the time that has passed on its replica's
    /// clock, and at most the delay of a request in addition.
    pub fn step_clock(&mut self) {
        const JITTER: f64 = 0.025;
        self.gained += JITTER;
    }

    /// Checks calls that were granted between two moments.
    pub fn call(&mut self, owner: &Owner, calls: usize, [asked, answered]: [Instant; 2], rules: &Rules) {
        for (place, ceiling) in ceilings_of(owner, rules).into_iter().enumerate() {
            self.see(&(owner.clone(), place), calls, [asked, answered], ceiling);
        }
    }

    fn see(&mut self, of: &(Owner, usize), calls: usize, [asked, answered]: [Instant; 2], ceiling: Option<(f64, u64)>) {
        let seconds = |at: Instant| at.duration_since(self.begun).as_secs_f64();
        let (asked, answered) = (seconds(asked), seconds(answered));
        let (owner, of) = (of, self.of.entry(of.clone()).or_default());
        if of.ceiling != ceiling {
            *of = Calls { ceiling, made: 0.0, earliest: f64::NEG_INFINITY };
        }
        let Some((rate, burst)) = ceiling else { return };
        of.earliest = f64::max(of.earliest, rate * asked - of.made);
        of.made += calls as f64;
        // Tokens are kept for this many seconds until a take comes, also beyond a small burst.
        const KEPT: f64 = 0.005;
        let fullest = of.made - rate * answered + of.earliest;
        let most = f64::max(burst as f64, 1.0 + rate * KEPT) + rate * self.gained + 1e-5;
        assert!(fullest <= most, "{owner:?} got {fullest} in a window beyond its rate, of {burst}");
    }
}

fn ceilings_of(owner: &Owner, rules: &Rules) -> Vec<Option<(f64, u64)>> {
    rules.bounds(&owner.name).map_or_else(Vec::new, |bounds| bounds.ceilings())
}
