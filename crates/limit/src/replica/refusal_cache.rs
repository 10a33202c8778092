//! Caches refusals until they end, so that a caller that retries at once doesn't cost a call to Redis each time.

use std::time::{Duration, Instant};

use moka::sync::Cache;

use crate::decide::combined::PlacedDecision;
use crate::decide::decision::{Decision, PolicyVerdict};
use crate::decide::plan::{Plan, Scope};
use crate::decide::verdict::{Remaining, ScopeVerdict};
use crate::decide::wait::Wait;
use crate::policy::tier::TierKind;

/// Maximum time in the cache: refunds by other replicas, and raised limits, take effect after it.
const LONGEST: Duration = Duration::from_secs(1);
const MOST: u64 = 100_000;

/// The verdict on one scope of a refused request. Scopes that allow it are cached, too, because the longest wait
/// depends on the verdicts of all scopes.
#[derive(Clone, Debug)]
struct CachedVerdict {
    cost: u64,
    fingerprint: u32,
    /// Computed from the time of the call to Redis, which decided later, so that the verdict isn't used for too long.
    until: Instant,
    /// When the reply came. Redis decided before, so the rest of the wait since then isn't too short.
    answered: Instant,
    verdict: ScopeVerdict,
}

#[derive(Debug)]
pub(crate) struct RefusalCache(Cache<String, CachedVerdict>);

impl RefusalCache {
    pub(crate) fn new() -> Self {
        Self(Cache::builder().max_capacity(MOST).time_to_live(LONGEST).build())
    }

    /// Caches the verdict on one scope of a refused request, except for a refusal that other requests may end early.
    pub(crate) fn remember(&self, scope: &Scope, verdict: &ScopeVerdict, asked: Instant, answered: Instant) {
        let policy = &scope.policy;
        if policy.is_shadow() {
            return;
        }
        let keep = match verdict.wait() {
            Wait::After(_) if policy.tiers().iter().any(|tier| may_change(tier.kind())) => return self.forget(scope),
            Wait::After(wait) => wait.min(LONGEST),
            Wait::Ready | Wait::Never => LONGEST,
        };
        let (cost, fingerprint) = (scope.cost, policy.fingerprint());
        let cached = CachedVerdict { cost, fingerprint, until: asked + keep, answered, verdict: verdict.clone() };
        self.0.insert(scope.key.clone(), cached);
    }

    /// The refusal of a request, if the verdicts of all enforced policies are cached and one of them refuses.
    pub(crate) fn find(&self, plan: &Plan) -> Option<PlacedDecision> {
        let now = Instant::now();
        let (mut places, mut verdicts, mut refused) = (Vec::new(), Vec::new(), false);
        for (at, scope) in plan.scopes().iter().enumerate().filter(|(_, scope)| !scope.policy.is_shadow()) {
            let cached = self.0.get(&scope.key).filter(|cached| cached.is_about(scope, now))?;
            refused |= !cached.verdict.passed;
            verdicts.push(PolicyVerdict::of(scope, cached.later(now)));
            places.push(at);
        }
        refused.then(|| PlacedDecision { decision: Decision::of(verdicts), places })
    }

    pub(crate) fn forget(&self, scope: &Scope) {
        self.0.invalidate(&scope.key);
    }

    pub(crate) fn forget_all(&self) {
        self.0.invalidate_all();
    }
}

impl CachedVerdict {
    /// Whether the verdict is valid for this scope. A higher cost may wait longer, and a lower one may be allowed.
    fn is_about(&self, scope: &Scope, now: Instant) -> bool {
        self.cost == scope.cost && self.fingerprint == scope.policy.fingerprint() && now < self.until
    }

    fn later(&self, now: Instant) -> ScopeVerdict {
        let passed = now.saturating_duration_since(self.answered);
        let us = u64::try_from(passed.as_micros()).unwrap_or(u64::MAX);
        let tiers = self.verdict.tiers.iter().map(|(wait, left)| {
            (wait.less(passed), Remaining { calls: left.calls, resets: left.resets.saturating_sub(us) })
        });
        ScopeVerdict { passed: self.verdict.passed, taken: 0, tiers: tiers.collect() }
    }
}

/// Whether a wait may become shorter, as leases are returned and queues drain at any time, or whether the refused call
/// must be counted in Redis.
fn may_change(kind: &TierKind) -> bool {
    matches!(kind, TierKind::Concurrent | TierKind::Backlog | TierKind::Log { count_denied: true, .. })
}
