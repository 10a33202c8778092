//! The limiter of a service: decides on requests by its policies.

mod awaited_leases;
mod decide;
mod limiter_state;
mod taking_ahead;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use dripfeed_store::{Store, restart_on_panic};
use tokio::sync::Notify;

use crate::decide::combined::{self, CombinedDecision, PlacedDecision};
use crate::decide::counts::VerdictCounts;
use crate::decide::decision::Decision;
use crate::decide::minutes::VerdictHistory;
use crate::decide::plan::Plan;
use crate::decide::redis_decide::Refund;
use crate::error::LimitError;
use crate::limiter::awaited_leases::decide_with_leases;
use crate::limiter::decide::PendingDecision;
use crate::limiter::limiter_state::LimiterState;
use crate::policy::policies::Policies;
use crate::policy::request::Request;
use crate::policy::scope::KeyPart;
use crate::policy::tier::TierKind;
use crate::policy::{Policy, PolicyId};
use crate::replica::lease_account::Withdraw;
use crate::replica::leased::RETURN_INTERVAL;

/// The default timeout of Redis in a decision. Decisions take at most 50 ms: the rest is left for the decision without
/// Redis, on a busy machine.
pub(crate) const DECISION_TIMEOUT: Duration = Duration::from_millis(35);

/// Maximum number of tiers of requests that are decided together, in one script: that of one request to a service.
const MOST_TIERS_TOGETHER: usize = 1600;

/// Decides on requests by a set of policies. Cheap to clone; clones share their state. Needs a tokio runtime.
#[derive(Clone, Debug)]
pub struct Limiter {
    state: Arc<LimiterState>,
    /// Whether requests come without bodies.
    heads_only: Arc<AtomicBool>,
}

impl Limiter {
    /// Creates a limiter. `tag` is the name of the service, which is part of its Redis keys.
    ///
    /// # Errors
    /// When a policy has a tier of the kind `backlog`, because a service has no queue.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn new(store: Store, tag: &str, policies: Policies) -> Result<Self, LimitError> {
        Self::with_timeout(store, tag, policies, DECISION_TIMEOUT)
    }

    /// Sets the timeout of Redis in a decision. After it, the limiter decides without Redis, which may have charged the
    /// request all the same.
    ///
    /// # Errors
    /// As [`Limiter::new`].
    ///
    /// # Panics
    /// As [`Limiter::new`].
    pub fn with_timeout(store: Store, tag: &str, policies: Policies, timeout: Duration) -> Result<Self, LimitError> {
        check(&policies, false)?;
        let state = Arc::new(LimiterState::new(store, tag, policies, timeout));
        let (weak, earlier) = (Arc::downgrade(&state), state.async_counter.earlier());
        tokio::spawn(restart_on_panic("reporting counts", move || keep_reporting(weak.clone(), Arc::clone(&earlier))));
        let (weak, held) = (Arc::downgrade(&state), state.leases.held());
        tokio::spawn(restart_on_panic("returning quota", move || {
            keep_returning_leases(weak.clone(), Arc::clone(&held))
        }));
        Ok(Self { state, heads_only: Arc::default() })
    }

    /// Replaces all policies at once. A policy with the same id keeps its counters.
    ///
    /// # Errors
    /// As [`Limiter::new`]; then the policies are unchanged.
    pub fn replace(&self, policies: Policies) -> Result<(), LimitError> {
        check(&policies, self.heads_only.load(Ordering::Relaxed))?;
        self.state.replace(policies);
        Ok(())
    }

    /// Sets the number of live replicas, including this one: each enforces its share while Redis is unavailable.
    pub fn set_replicas(&self, replicas: u64) {
        self.state.outage.set_replicas(replicas);
    }

    /// From now on, policies that count by a field of the body are refused, because requests come without bodies.
    pub(crate) fn refuse_body_fields(&self) -> Result<(), LimitError> {
        let before = self.heads_only.swap(true, Ordering::Relaxed);
        // On an error the caller can't use the limiter without bodies.
        check(&self.state.policies(), true).inspect_err(|_| self.heads_only.store(before, Ordering::Relaxed))
    }

    /// Returns the decisions so far, by policy.
    pub fn tally(&self) -> BTreeMap<PolicyId, VerdictCounts> {
        self.state.counts()
    }

    /// Returns the decisions of the last hour, by minute, for the 20 policies that decided first.
    pub fn history(&self) -> VerdictHistory {
        self.state.history()
    }

    /// Decides within 50 ms (or the timeout that was set), and charges the request if it is allowed.
    ///
    /// # Errors
    /// When Redis is unavailable and a policy that applies to the request is `closed`.
    pub async fn decide(&self, request: &Request<'_>) -> Result<Decision, LimitError> {
        Ok(self.judge(self.state.plan(request)).await?.decision)
    }

    /// Decides on several requests as on one: all are allowed, or none and nothing is charged. A scope of several
    /// requests is charged once, with the highest cost of them.
    ///
    /// # Errors
    /// As [`Limiter::decide`], and when the requests have too many tiers together.
    pub async fn decide_together(&self, requests: &[Request<'_>]) -> Result<CombinedDecision, LimitError> {
        let plans: Vec<Plan> = requests.iter().map(|request| self.state.plan(request)).collect();
        let (plan, places) = combined::merge(plans);
        let tiers = plan.policies().map(|policy| policy.tiers().len()).sum();
        if tiers > MOST_TIERS_TOGETHER {
            return Err(LimitError::ManyTiers { tiers, most: MOST_TIERS_TOGETHER });
        }
        Ok(CombinedDecision::new(self.judge(plan).await?, &places))
    }

    async fn judge(&self, plan: Plan) -> Result<PlacedDecision, LimitError> {
        if plan.is_empty() {
            return Ok(PlacedDecision { decision: Decision::unlimited(), places: Vec::new() });
        }
        let placed = match self.state.refusals.find(&plan) {
            Some(known) => known,
            None if plan.has_leases() => decide_with_leases(Arc::clone(&self.state), plan).await?,
            None => PendingDecision::new(&self.state, &plan).run(plan).await?,
        };
        self.state.tally.decided(&placed.decision, self.state.minute());
        Ok(placed)
    }

    /// Refunds the charges of a decision, as if the request hadn't been made. No counter falls below zero.
    ///
    /// # Errors
    /// When Redis can't be reached.
    pub async fn refund(&self, decision: Decision) -> Result<(), LimitError> {
        self.state.refund_decision(decision, Refund::All).await
    }

    /// Releases the leases that a decision took, because the request has ended.
    ///
    /// # Errors
    /// When Redis can't be reached; then the leases expire.
    pub async fn release(&self, decision: Decision) -> Result<(), LimitError> {
        self.state.refund_decision(decision, Refund::Leases).await
    }

    /// Reports all local counters to Redis, and returns quota that was leased in advance. To be called last at
    /// shutdown.
    ///
    /// # Errors
    /// When Redis can't be reached. Then the leased quota is missing until it expires.
    pub async fn close(&self) -> Result<(), LimitError> {
        self.state.async_counter.report(&self.state.store, &self.state.clock).await;
        self.state.withdraw(Withdraw::All).await
    }
}

/// Refuses policies that this limiter couldn't enforce completely.
fn check(policies: &Policies, heads_only: bool) -> Result<(), LimitError> {
    let not_here = |policy: &Policy, what| Err(LimitError::NotHere { policy: policy.id().clone(), what });
    for policy in policies.iter() {
        if policy.tiers().iter().any(|tier| *tier.kind() == TierKind::Backlog) {
            return not_here(policy, "a backlog, which exists only in buckets");
        }
        if heads_only && policy.settings().key.iter().any(|part| matches!(part, KeyPart::Field(_))) {
            return not_here(policy, "a field of the body, which isn't available here");
        }
    }
    Ok(())
}

/// Reports local counters to Redis, as long as the limiter exists. Each policy has its own `sync`, so a count may be
/// due before the current pause ends.
async fn keep_reporting(state: Weak<LimiterState>, earlier: Arc<Notify>) {
    loop {
        let Some(due) = state.upgrade().map(|state| state.async_counter.due()) else { return };
        let due = async {
            match due {
                Some(due) => tokio::time::sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = earlier.notified() => continue,
            () = due => {}
        }
        let Some(state) = state.upgrade() else { return };
        state.async_counter.report(&state.store, &state.clock).await;
    }
}

/// Returns leased quota that wasn't spent in time, as long as the limiter exists.
async fn keep_returning_leases(state: Weak<LimiterState>, held: Arc<Notify>) {
    loop {
        held.notified().await;
        if state.strong_count() == 0 {
            return;
        }
        tokio::time::sleep(RETURN_INTERVAL).await;
        let Some(state) = state.upgrade() else { return };
        if let Err(error) = state.withdraw(Withdraw::Expired).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "could not return unused quota; it stays charged until its window ends"
            );
        }
    }
}
