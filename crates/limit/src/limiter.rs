//! The limiter of a service: policies, and the ways to decide by them.

mod awaited_leases;
mod decide;
mod limiter_state;
mod taking_ahead;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use dripfeed_store::{Store, keep_running};
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
use crate::replica::leased::LOOK_AFTER;

/// How long a decision waits for Redis, where nothing else is said. It is there within 50 ms: the rest is for what is
/// then done without Redis, on a busy machine.
pub(crate) const DECISION_TIMEOUT: Duration = Duration::from_millis(35);

/// Of requests that are decided together, in one script: as many as one request to a service may have.
const MOST_TIERS_TOGETHER: usize = 1600;

/// Decides on requests by a set of policies. Cheap to clone; clones are one limiter. Lives in a tokio runtime.
#[derive(Clone, Debug)]
pub struct Limiter {
    state: Arc<LimiterState>,
    /// Anyone who asks sees no bodies.
    heads_only: Arc<AtomicBool>,
}

impl Limiter {
    /// `tag` names the service: its policies decide together, and its keys bear the name.
    ///
    /// # Errors
    /// When a policy has a tier of the kind `backlog`: a service has no queue here.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn new(store: Store, tag: &str, policies: Policies) -> Result<Self, LimitError> {
        Self::with_timeout(store, tag, policies, DECISION_TIMEOUT)
    }

    /// Its decisions wait this long for Redis. Later ones are made without it, though Redis may have charged them.
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
        tokio::spawn(keep_running("reporting counts", move || keep_reporting(weak.clone(), Arc::clone(&earlier))));
        let (weak, held) = (Arc::downgrade(&state), state.leases.held());
        tokio::spawn(keep_running("returning quota", move || keep_giving_back(weak.clone(), Arc::clone(&held))));
        Ok(Self { state, heads_only: Arc::default() })
    }

    /// Other policies from now on, all at once. What was consumed under the same id stays consumed.
    ///
    /// # Errors
    /// As [`Limiter::new`]; the policies stay as they were.
    pub fn replace(&self, policies: Policies) -> Result<(), LimitError> {
        check(&policies, self.heads_only.load(Ordering::Relaxed))?;
        self.state.replace(policies);
        Ok(())
    }

    /// How many replicas are alive, this one included: each enforces its part while Redis is away.
    pub fn set_replicas(&self, replicas: u64) {
        self.state.outage.set_replicas(replicas);
    }

    /// From now on, policies that count by a field of the body are refused: anyone who asks sees heads alone.
    pub(crate) fn see_heads_only(&self) -> Result<(), LimitError> {
        let before = self.heads_only.swap(true, Ordering::Relaxed);
        // Refused here, nobody asks so.
        check(&self.state.policies(), true).inspect_err(|_| self.heads_only.store(before, Ordering::Relaxed))
    }

    /// What became of requests so far, by policy.
    pub fn tally(&self) -> BTreeMap<PolicyId, VerdictCounts> {
        self.state.counts()
    }

    /// The same for the last hour, by minute, of the 20 policies that decided first.
    pub fn history(&self) -> VerdictHistory {
        self.state.history()
    }

    /// Decides within 50 ms (or the timeout that was chosen), and charges what is allowed.
    ///
    /// # Errors
    /// When Redis can't be asked and a policy that is for this request is `closed`.
    pub async fn decide(&self, request: &Request<'_>) -> Result<Decision, LimitError> {
        Ok(self.judge(self.state.plan(request)).await?.decision)
    }

    /// Decides on several requests as on one: they pass together, or none does and nothing is charged. Where several
    /// fall into one scope it is charged once, with what the costliest of them counts.
    ///
    /// # Errors
    /// As [`Limiter::decide`], and when they have too many tiers together.
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

    /// Returns what a decision was charged, as if the request had not been: no further than to empty.
    ///
    /// # Errors
    /// When Redis can't be reached.
    pub async fn refund(&self, decision: Decision) -> Result<(), LimitError> {
        self.state.refund_decision(decision, Refund::All).await
    }

    /// Returns the leases that a decision took: the call is over.
    ///
    /// # Errors
    /// When Redis can't be reached; they then expire.
    pub async fn release(&self, decision: Decision) -> Result<(), LimitError> {
        self.state.refund_decision(decision, Refund::Leases).await
    }

    /// Reports Redis all that was counted and returns what was taken ahead: the last thing a replica does.
    ///
    /// # Errors
    /// When Redis can't be reached. What was taken ahead is then missing until it would have expired.
    pub async fn close(&self) -> Result<(), LimitError> {
        self.state.async_counter.report(&self.state.store, &self.state.clock).await;
        self.state.withdraw(Withdraw::All).await
    }
}

/// Policies that ask for what isn't there would be heeded in part only.
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

/// Reports Redis what was counted, for as long as the limiter is there. Each policy has its own `sync`, so what is
/// counted during a pause may be due before it ends.
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

/// Returns what was taken ahead and not spent in its time, for as long as the limiter is there.
async fn keep_giving_back(state: Weak<LimiterState>, held: Arc<Notify>) {
    loop {
        held.notified().await;
        if state.strong_count() == 0 {
            return;
        }
        tokio::time::sleep(LOOK_AFTER).await;
        let Some(state) = state.upgrade() else { return };
        if let Err(error) = state.withdraw(Withdraw::Expired).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "could not return unused quota; it stays charged until its window ends"
            );
        }
    }
}
