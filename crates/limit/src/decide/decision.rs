//! The decision on a request.

use std::sync::Arc;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::decide::plan::{Plan, Scope};
use crate::decide::report;
use crate::decide::verdict::{Remaining, ScopeVerdict};
use crate::decide::wait::Wait;
use crate::policy::tier::Tier;
use crate::policy::{Mode, Policy, PolicyId};

/// The verdict of all policies on one request. As JSON, the answer of the check API.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Whether all enforced policies allow the request. If so, it was charged to all of them, otherwise to none.
    pub allowed: bool,
    /// How long until the request would be allowed: the longest wait of the enforced tiers.
    pub wait: Wait,
    /// The verdicts of the policies that were checked. A cached refusal lacks policies in shadow mode.
    pub policies: Vec<PolicyVerdict>,
    /// The charges, which can be refunded.
    pub(crate) charges: Vec<Charge>,
}

/// The verdict of one policy.
#[derive(Clone, Debug)]
pub struct PolicyVerdict {
    pub policy: Arc<Policy>,
    /// The cost of the request for this policy.
    pub cost: u64,
    pub allowed: bool,
    pub tiers: Vec<TierVerdict>,
}

/// The state of one tier after the charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierVerdict {
    pub kind: &'static str,
    pub limit: u64,
    pub period: Duration,
    /// How long until this tier would allow the request.
    pub wait: Wait,
    /// How many calls of cost 1 would be allowed now: up to the burst, which may be more than the limit.
    pub remaining: u64,
    /// How long until all is available again.
    pub reset: Duration,
}

/// A charge, and where it was counted.
#[derive(Clone, Debug)]
pub(crate) struct Charge {
    pub(crate) scope: Scope,
    /// The id of the leases that it took.
    pub(crate) lease: u64,
    pub(crate) place: ChargedIn,
    /// µs of the Redis clock.
    pub(crate) at_us: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChargedIn {
    Store,
    /// Quota that this replica had leased in advance.
    Lease,
    /// A local counter, which this replica reports to Redis later.
    Count,
    /// The share that this replica enforces locally while Redis is unavailable.
    Outage,
}

impl Decision {
    /// The decision on a request to which no policy applies.
    pub(crate) fn unlimited() -> Self {
        Self { allowed: true, wait: Wait::Ready, policies: Vec::new(), charges: Vec::new() }
    }

    pub(crate) fn of(policies: Vec<PolicyVerdict>) -> Self {
        let heeded = || policies.iter().filter(|verdict| verdict.policy.settings().mode == Mode::Enforce);
        let allowed = heeded().all(|verdict| verdict.allowed);
        let waits = heeded().filter(|verdict| !verdict.allowed).flat_map(|verdict| &verdict.tiers);
        let wait = waits.map(|tier| tier.wait).max().unwrap_or(Wait::Ready);
        Self { allowed, wait, policies, charges: Vec::new() }
    }

    /// Parses the result of `limit_report` for `plan`. Returns `None` if it belongs to another plan.
    pub fn read(plan: &Plan, report: &[i64]) -> Option<Self> {
        let (_, verdicts) = report::read(plan.scopes(), report)?;
        Some(Self::of_verdicts(plan, verdicts))
    }

    /// Parses the result of `limit_states` for `plan`, at `now_us` of the Redis clock.
    pub fn read_states(plan: &Plan, now_us: u64, states: &[u8]) -> Option<Self> {
        Some(Self::of_verdicts(plan, report::read_states(plan.scopes(), now_us, states)?))
    }

    fn of_verdicts(plan: &Plan, verdicts: Vec<ScopeVerdict>) -> Self {
        let policy_verdict = |(scope, verdict)| PolicyVerdict::of(scope, verdict);
        Self::of(plan.scopes().iter().zip(verdicts).map(policy_verdict).collect())
    }

    /// Returns whether leases were taken, which expire unless they are released.
    pub fn has_leases(&self) -> bool {
        self.charges.iter().any(|charge| charge.scope.policy.has_leases())
    }

    /// Returns `None` if the request was allowed, or waiting doesn't help.
    pub fn retry_after(&self) -> Option<Duration> {
        match self.wait {
            Wait::After(wait) if !self.allowed => Some(wait),
            _ => None,
        }
    }

    /// Returns the verdicts of the enforced policies that refuse the request.
    pub fn violated(&self) -> impl Iterator<Item = &PolicyVerdict> {
        self.policies.iter().filter(|verdict| !verdict.allowed && verdict.policy.settings().mode == Mode::Enforce)
    }

    /// Returns the message for a refused caller: that the request can never be allowed, or that of the first policy
    /// that refuses.
    pub fn message(&self) -> Option<String> {
        let never = |verdict: &&PolicyVerdict| verdict.tiers.iter().any(|tier| tier.wait == Wait::Never);
        if let Some(verdict) = self.violated().find(never) {
            let most = verdict.policy.tiers_in_store().iter().map(|tier| tier.most()).min().unwrap_or(0);
            let (id, cost) = (verdict.policy.id(), verdict.cost);
            return Some(format!(
                "the cost of this request is {cost}, and `{id}` never allows more than {most} at once"
            ));
        }
        self.violated().find_map(|verdict| verdict.policy.settings().message.clone())
    }
}

impl TierVerdict {
    /// Returns `remaining` as shown in answers: at most the limit, which is shown beside it.
    pub fn shown_remaining(&self) -> u64 {
        self.remaining.min(self.limit)
    }
}

impl PolicyVerdict {
    pub(crate) fn of(scope: &Scope, verdict: ScopeVerdict) -> Self {
        let tier_verdict = |(tier, (wait, left)): (&Tier, (Wait, Remaining))| TierVerdict {
            kind: tier.kind().as_str(),
            limit: tier.limit(),
            period: tier.period(),
            wait,
            remaining: left.calls,
            reset: Duration::from_micros(left.resets),
        };
        let tiers = scope.policy.tiers().iter().zip(verdict.tiers).map(tier_verdict).collect();
        Self { policy: scope.policy.clone(), cost: scope.cost, allowed: verdict.passed, tiers }
    }
}

#[derive(Serialize)]
struct DecisionJson<'d> {
    allowed: bool,
    retry_after_ms: Option<u64>,
    message: Option<String>,
    policies: Vec<PolicyJson<'d>>,
}

#[derive(Serialize)]
struct PolicyJson<'d> {
    id: &'d PolicyId,
    mode: Mode,
    allowed: bool,
    tiers: Vec<TierJson>,
}

#[derive(Serialize)]
struct TierJson {
    kind: &'static str,
    limit: u64,
    remaining: u64,
    reset_ms: u64,
}

impl Serialize for Decision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ms = dripfeed_job::duration::ms_up;
        let tier = |tier: &TierVerdict| TierJson {
            kind: tier.kind,
            limit: tier.limit,
            remaining: tier.shown_remaining(),
            reset_ms: ms(tier.reset),
        };
        let policy = |verdict| {
            let PolicyVerdict { policy, allowed, tiers, .. }: &PolicyVerdict = verdict;
            let mode = policy.settings().mode;
            PolicyJson { id: policy.id(), mode, allowed: *allowed, tiers: tiers.iter().map(tier).collect() }
        };
        DecisionJson {
            allowed: self.allowed,
            retry_after_ms: self.retry_after().map(ms),
            message: self.message(),
            policies: self.policies.iter().map(policy).collect(),
        }
        .serialize(serializer)
    }
}
