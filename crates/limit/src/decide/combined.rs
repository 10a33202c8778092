//! Decides several requests together.

use std::collections::HashMap;

use crate::decide::decision::{Decision, PolicyVerdict};
use crate::decide::plan::{Plan, Scope};

/// A decision, and for each of its policies the index of its scope in the plan. A decision may lack some scopes, whose
/// verdict doesn't matter.
pub(crate) struct PlacedDecision {
    pub(crate) decision: Decision,
    pub(crate) places: Vec<usize>,
}

/// The decision on several requests together.
#[derive(Clone, Debug)]
pub struct CombinedDecision {
    pub decision: Decision,
    /// For each request the indices of its policies in the decision.
    requests: Vec<Vec<usize>>,
}

impl CombinedDecision {
    pub(crate) fn new(PlacedDecision { decision, places }: PlacedDecision, requests: &[Vec<usize>]) -> Self {
        let place_of = |scope: &usize| places.iter().position(|place| place == scope);
        let requests = requests.iter().map(|scopes| scopes.iter().filter_map(place_of).collect()).collect();
        Self { decision, requests }
    }

    /// Returns the verdicts on each request, in the order of the requests. A request without verdicts has no limits, or
    /// another request was refused before it was checked.
    pub fn requests(&self) -> impl Iterator<Item = Vec<&PolicyVerdict>> {
        self.requests.iter().map(|places| places.iter().filter_map(|at| self.decision.policies.get(*at)).collect())
    }
}

/// Merges plans into one. Returns also the indices of each plan's scopes in it.
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
