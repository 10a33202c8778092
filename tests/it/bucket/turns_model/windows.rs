//! That nobody gets more than its rate and burst let through, and each of its tiers, in any window.

use std::collections::BTreeMap;
use std::time::Instant;

use super::ledger::Owner;
use super::rules::Rules;

/// The calls of each since its rate or its burst was last changed.
pub struct Windows {
    begun: Instant,
    /// By the place of a rate among those of one.
    of: BTreeMap<(Owner, usize), Calls>,
    /// What steps of the clock may have gained, in s.
    gained: f64,
}

#[derive(Default)]
struct Calls {
    ceiling: Option<(f64, u64)>,
    made: f64,
    /// The most, over all takes, of what the rate gave until it was asked, less the calls before it.
    earliest: f64,
}

impl Windows {
    pub fn new() -> Self {
        Self { begun: Instant::now(), of: BTreeMap::new(), gained: 0.0 }
    }

    /// When nobody has a bound any more, what was used is forgotten.
    pub fn forget(&mut self) {
        self.of.clear();
    }

    /// What drained at another rate has drained, whether somebody was called meanwhile or not.
    pub fn change(&mut self, rules: &Rules) {
        self.of.retain(|(owner, place), calls| ceilings_of(owner, rules).get(*place) == Some(&calls.ceiling));
    }

    /// The clock was put forward, and this is the first take since: it counts no more as passed than what has, by the
    /// clock of its replica, but for how late a request may be.
    pub fn step_clock(&mut self) {
        const JITTER: f64 = 0.025;
        self.gained += JITTER;
    }

    /// These calls were granted between two moments.
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
        // What comes until a take does is kept so long, also beyond a small burst.
        const KEPT: f64 = 0.005;
        let fullest = of.made - rate * answered + of.earliest;
        let most = f64::max(burst as f64, 1.0 + rate * KEPT) + rate * self.gained + 1e-5;
        assert!(fullest <= most, "{owner:?} got {fullest} in a window beyond its rate, of {burst}");
    }
}

fn ceilings_of(owner: &Owner, rules: &Rules) -> Vec<Option<(f64, u64)>> {
    rules.bounds(&owner.name).map_or_else(Vec::new, |bounds| bounds.ceilings())
}
