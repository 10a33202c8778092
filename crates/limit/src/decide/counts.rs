//! Counts of decisions by policy, for metrics.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::decide::decision::Decision;
use crate::policy::{Mode, PolicyId};

/// Counts since the limiter began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictCounts {
    pub allowed: u64,
    pub refused: u64,
    /// What a shadow would have refused.
    pub shadow_refused: u64,
    /// What passed because Redis couldn't be asked and the policy is `open`.
    pub unchecked: u64,
}

#[derive(Debug, Default)]
pub(crate) struct VerdictTally(Mutex<BTreeMap<PolicyId, VerdictCounts>>);

impl VerdictTally {
    pub(crate) fn decided(&self, decision: &Decision) {
        let mut counts = self.0.lock();
        for verdict in &decision.policies {
            let counts = counts.entry(verdict.policy.id().clone()).or_default();
            match (verdict.allowed, verdict.policy.settings().mode) {
                (true, _) => counts.allowed += 1,
                (false, Mode::Shadow) => counts.shadow_refused += 1,
                (false, _) => counts.refused += 1,
            }
        }
    }

    pub(crate) fn unchecked(&self, policy: &PolicyId) {
        self.0.lock().entry(policy.clone()).or_default().unchecked += 1;
    }

    /// The counts of the policies that still exist; the others are dropped.
    pub(crate) fn of(&self, exists: impl Fn(&PolicyId) -> bool) -> BTreeMap<PolicyId, VerdictCounts> {
        let mut counts = self.0.lock();
        counts.retain(|id, _| exists(id));
        counts.clone()
    }
}
