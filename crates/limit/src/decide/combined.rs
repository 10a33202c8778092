//! Decides several requests together.

use std::collections::HashMap;

use crate::decide::decision::{Decision, PolicyVerdict};
use crate::decide::plan::{Plan, Scope};

/// A decision, and for each of its policies the place of its scope in the plan: those that didn't matter aren't
/// reported.
pub(crate) struct PlacedDecision {
    pub(crate) decision: Decision,
    pub(crate) places: Vec<usize>,
}

/// What came of requests that were decided together.
#[derive(Clone, Debug)]
pub struct CombinedDecision {
    pub decision: Decision,
    /// For each request the places of its policies in the decision.
    requests: Vec<Vec<usize>>,
}

impl CombinedDecision {
    pub(crate) fn new(PlacedDecision { decision, places }: PlacedDecision, requests: &[Vec<usize>]) -> Self {
        let place_of = |scope: &usize| places.iter().position(|place| place == scope);
        let requests = requests.iter().map(|scopes| scopes.iter().filter_map(place_of).collect()).collect();
        Self { decision, requests }
    }

    /// The verdicts on each request, in the order in which they were given. A request that no verdict is about is
    /// limited by nothing, or the others were refused without asking about it.
    pub fn requests(&self) -> impl Iterator<Item = Vec<&PolicyVerdict>> {
        self.requests.iter().map(|places| places.iter().filter_map(|at| self.decision.policies.get(*at)).collect())
    }
}

/// One plan, and for each of `plans` the places of its scopes there.
pub(crate) fn merge(plans: Vec<Plan>) -> (Plan, Vec<Vec<usize>>) {
    let mut scopes: Vec<Scope> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut place = |scope: Scope| match known.get(&scope.key) {
        Some(at) => {
            let cost = scopes[*at].cost.max(scope.cost);
            scopes[*at] = scopes[*at].costing(cost);
            *at
        }
        None => {
            known.insert(scope.key.clone(), scopes.len());
            scopes.push(scope);
            scopes.len() - 1
        }
    };
    let places = plans.into_iter().map(|plan| plan.into_scopes().into_iter().map(&mut place).collect()).collect();
    (Plan::of(scopes), places)
}
