//! Caches refusals until they end, so that a caller that retries at once doesn't cost a call to Redis each time.

use std::time::{Duration, Instant};

use moka::sync::Cache;

use crate::decide::combined::PlacedDecision;
use crate::decide::decision::{Decision, PolicyVerdict};
use crate::decide::plan::{Plan, Scope};
use crate::decide::verdict::{Remaining, ScopeVerdict};
use crate::decide::wait::Wait;
use crate::policy::tier::TierKind;

/// What was returned by another replica, or raised by it, is seen after that long.
const LONGEST: Duration = Duration::from_secs(1);
const MOST: u64 = 100_000;

#[derive(Clone, Debug)]
struct CachedRefusal {
    cost: u64,
    fingerprint: u32,
    /// Counted from when Redis was asked: it decided later, so the refusal isn't kept for too long.
    until: Instant,
    /// When its reply was there: it decided before, so who waits for what is left of the wait since then isn't early.
    answered: Instant,
    verdict: ScopeVerdict,
}

#[derive(Debug)]
pub(crate) struct RefusalCache(Cache<String, CachedRefusal>);

impl RefusalCache {
    pub(crate) fn new() -> Self {
        Self(Cache::builder().max_capacity(MOST).time_to_live(LONGEST).build())
    }

    /// Remembers why a request was refused, where nobody else can change that before the time that was reported.
    pub(crate) fn remember(&self, scope: &Scope, verdict: &ScopeVerdict, asked: Instant) {
        let policy = &scope.policy;
        let settled = !policy.is_shadow() && !policy.tiers().iter().any(|tier| may_change(tier.kind()));
        if let (true, false, Wait::After(wait)) = (settled, verdict.passed, verdict.wait()) {
            let refusal = CachedRefusal {
                cost: scope.cost,
                fingerprint: policy.fingerprint(),
                until: asked + wait.min(LONGEST),
                answered: Instant::now(),
                verdict: verdict.clone(),
            };
            self.0.insert(scope.key.clone(), refusal);
        }
    }

    /// The refusal of a request that costs at least what was refused.
    pub(crate) fn find(&self, plan: &Plan) -> Option<PlacedDecision> {
        let now = Instant::now();
        plan.scopes().iter().enumerate().find_map(|(at, scope)| {
            let refusal = self.0.get(&scope.key)?;
            let holds = refusal.fingerprint == scope.policy.fingerprint()
                && !scope.policy.is_shadow()
                && scope.cost >= refusal.cost
                && now < refusal.until;
            let decision = || Decision::of(vec![PolicyVerdict::of(scope, refusal.later(scope, now))]);
            holds.then(|| PlacedDecision { decision: decision(), places: vec![at] })
        })
    }

    pub(crate) fn forget(&self, scope: &Scope) {
        self.0.invalidate(&scope.key);
    }

    pub(crate) fn forget_all(&self) {
        self.0.invalidate_all();
    }
}

impl CachedRefusal {
    fn later(&self, scope: &Scope, now: Instant) -> ScopeVerdict {
        let passed = now.saturating_duration_since(self.answered);
        let us = u64::try_from(passed.as_micros()).unwrap_or(u64::MAX);
        let tiers = self.verdict.tiers.iter().zip(scope.policy.tiers_in_store()).map(|((wait, left), tier)| {
            let never = scope.cost > tier.most();
            let wait = if never { Wait::Never } else { wait.less(passed) };
            (wait, Remaining { calls: left.calls, resets: left.resets.saturating_sub(us) })
        });
        ScopeVerdict { passed: false, taken: 0, tiers: tiers.collect() }
    }
}

/// Leases are returned at any time and queues drain; denied calls that are counted must be asked of Redis.
fn may_change(kind: &TierKind) -> bool {
    matches!(kind, TierKind::Concurrent | TierKind::Backlog | TierKind::Log { count_denied: true, .. })
}
