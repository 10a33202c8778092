//! Counts decisions by policy, for metrics and the dashboard.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::decide::counts::VerdictCounts;
use crate::decide::decision::Decision;
use crate::decide::minutes::{Minute, Minutes, VerdictHistory};
use crate::policy::{Mode, PolicyId};

/// Maximum number of policies of a service with counts by minute, those that decided first. Bounds the memory.
const MOST_WITH_MINUTES: usize = 20;

#[derive(Debug, Default)]
pub(crate) struct VerdictTally(Mutex<BTreeMap<PolicyId, Counted>>);

#[derive(Debug, Default)]
struct Counted {
    all: VerdictCounts,
    minutes: Option<Minutes>,
}

impl VerdictTally {
    pub(crate) fn decided(&self, decision: &Decision, minute: Minute) {
        let mut counts = self.0.lock();
        for verdict in &decision.policies {
            let mut one = VerdictCounts::default();
            match (verdict.allowed, verdict.policy.settings().mode) {
                (true, _) => one.allowed = 1,
                (false, Mode::Shadow) => one.shadow_refused = 1,
                (false, _) => one.refused = 1,
            }
            count(&mut counts, verdict.policy.id(), one, minute);
        }
    }

    pub(crate) fn unchecked(&self, policy: &PolicyId, minute: Minute) {
        let one = VerdictCounts { unchecked: 1, ..VerdictCounts::default() };
        count(&mut self.0.lock(), policy, one, minute);
    }

    /// Removes policies that no longer exist.
    pub(crate) fn retain(&self, exists: impl Fn(&PolicyId) -> bool) {
        self.0.lock().retain(|id, _| exists(id));
    }

    pub(crate) fn all(&self) -> BTreeMap<PolicyId, VerdictCounts> {
        self.0.lock().iter().map(|(id, counted)| (id.clone(), counted.all)).collect()
    }

    /// The decisions of the last hour, by minute.
    pub(crate) fn history(&self, now_us: u64) -> VerdictHistory {
        let counts = self.0.lock();
        let now = Minute::of_us(now_us);
        let minutes =
            counts.iter().filter_map(|(id, counted)| Some((id.clone(), counted.minutes.as_ref()?.until(now))));
        VerdictHistory::new(now_us, minutes.collect())
    }
}

fn count(counts: &mut BTreeMap<PolicyId, Counted>, policy: &PolicyId, one: VerdictCounts, minute: Minute) {
    let counted = match counts.get_mut(policy) {
        Some(counted) => counted,
        None => {
            let with_minutes = counts.values().filter(|other| other.minutes.is_some()).count();
            let minutes = (with_minutes < MOST_WITH_MINUTES).then(Minutes::default);
            counts.entry(policy.clone()).or_insert(Counted { all: VerdictCounts::default(), minutes })
        }
    };
    counted.all += one;
    if let Some(minutes) = &mut counted.minutes {
        minutes.count(minute, one);
    }
}
