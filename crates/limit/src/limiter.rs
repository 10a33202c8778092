//! The limiter of a service: policies, and the ways to decide by them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use dripfeed_store::Store;
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::counted::Counted;
use crate::decision::{Charge, ChargedIn, Decision};
use crate::error::LimitError;
use crate::keys::ScopeKeys;
use crate::leased::{LOOK_AFTER, Leases, Withdraw};
use crate::outage::Outage;
use crate::plan::Plan;
use crate::policies::Policies;
use crate::policy::{Policy, PolicyId};
use crate::refusals::Refusals;
use crate::request::Request;
use crate::round::Round;
use crate::scope::KeyPart;
use crate::strict::{self, GiveBack};
use crate::tally::{Counts, Tally};
use crate::tier::Kind;

/// A decision is there within 50 ms: the rest is for what is then done without Redis, on a busy machine.
const PATIENCE: Duration = Duration::from_millis(35);

/// Decides on requests by a set of policies. Cheap to clone; clones are one limiter. Lives in a tokio runtime.
#[derive(Clone, Debug)]
pub struct Limiter {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) store: Store,
    /// How long Redis is waited for.
    pub(crate) patience: Duration,
    keys: ScopeKeys,
    policies: ArcSwap<Policies>,
    /// Whoever asks sees no bodies.
    heads_only: AtomicBool,
    pub(crate) clock: Clock,
    pub(crate) refusals: Refusals,
    pub(crate) leases: Leases,
    pub(crate) counted: Counted,
    pub(crate) outage: Outage,
    pub(crate) tally: Tally,
}

impl Limiter {
    /// `tag` names the service: its policies decide together, and its keys bear the name.
    ///
    /// # Errors
    /// When a policy has a tier of the kind `backlog`: a service has no queue here.
    pub fn new(store: Store, tag: &str, policies: Policies) -> Result<Self, LimitError> {
        Self::with_patience(store, tag, policies, PATIENCE)
    }

    pub(crate) fn with_patience(
        store: Store,
        tag: &str,
        policies: Policies,
        patience: Duration,
    ) -> Result<Self, LimitError> {
        check(&policies, false)?;
        let inner = Inner {
            keys: ScopeKeys::new(store.prefix(), tag),
            store,
            patience,
            policies: ArcSwap::from_pointee(policies),
            heads_only: AtomicBool::new(false),
            clock: Clock::new(),
            refusals: Refusals::new(),
            leases: Leases::new(),
            counted: Counted::new(),
            outage: Outage::new(),
            tally: Tally::default(),
        };
        let inner = Arc::new(inner);
        tokio::spawn(keep_telling(Arc::downgrade(&inner), inner.counted.dirty()));
        tokio::spawn(keep_giving_back(Arc::downgrade(&inner), inner.leases.held()));
        Ok(Self { inner })
    }

    /// Other policies from now on, all at once. What was consumed under the same id stays consumed.
    ///
    /// # Errors
    /// As [`Limiter::new`]; the policies stay as they were.
    pub fn replace(&self, policies: Policies) -> Result<(), LimitError> {
        check(&policies, self.inner.heads_only.load(Ordering::Relaxed))?;
        self.inner.policies.store(Arc::new(policies));
        self.inner.refusals.forget_all();
        Ok(())
    }

    /// How many replicas are alive, this one included: each enforces its part while Redis is away.
    pub fn set_replicas(&self, replicas: u64) {
        self.inner.outage.set_replicas(replicas);
    }

    /// From now on, policies that count by a field of the body are refused: whoever asks sees heads alone.
    pub(crate) fn see_heads_only(&self) -> Result<(), LimitError> {
        self.inner.heads_only.store(true, Ordering::Relaxed);
        check(&self.inner.policies.load(), true)
    }

    /// What became of requests so far, by policy.
    pub fn tally(&self) -> BTreeMap<PolicyId, Counts> {
        self.inner.tally.snapshot()
    }

    /// Decides within 50 ms, and charges what is allowed.
    ///
    /// # Errors
    /// When Redis can't be asked and a policy that is for this request is `closed`.
    pub async fn decide(&self, request: &Request<'_>) -> Result<Decision, LimitError> {
        let decision = self.inner.decide(request).await?;
        self.inner.tally.decided(&decision);
        Ok(decision)
    }

    /// Gives back what a decision was charged, as if the request had not been: no further than to empty.
    ///
    /// # Errors
    /// When Redis can't be reached.
    pub async fn refund(&self, decision: Decision) -> Result<(), LimitError> {
        self.inner.give_back(decision, GiveBack::All).await
    }

    /// Gives back the leases that a decision took: the call is over.
    ///
    /// # Errors
    /// When Redis can't be reached; they then expire.
    pub async fn release(&self, decision: Decision) -> Result<(), LimitError> {
        self.inner.give_back(decision, GiveBack::Leases).await
    }

    /// Tells Redis all that was counted and gives back what was taken ahead: the last thing a replica does.
    ///
    /// # Errors
    /// When Redis can't be reached. What was taken ahead is then missing until it would have expired.
    pub async fn close(&self) -> Result<(), LimitError> {
        self.inner.counted.tell(&self.inner.store, &self.inner.clock).await;
        self.inner.withdraw(Withdraw::All).await
    }
}

/// Policies that ask for what isn't there would be heeded in part only.
fn check(policies: &Policies, heads_only: bool) -> Result<(), LimitError> {
    let not_here = |policy: &Policy, what| Err(LimitError::NotHere { policy: policy.id().clone(), what });
    for policy in policies.iter() {
        if policy.tiers().iter().any(|tier| *tier.kind() == Kind::Backlog) {
            return not_here(policy, "a backlog, which only a bucket has");
        }
        if heads_only && policy.settings().key.iter().any(|part| matches!(part, KeyPart::Field(_))) {
            return not_here(policy, "a field of the body, which isn't read here");
        }
    }
    Ok(())
}

/// Tells Redis what was counted, for as long as the limiter is there.
async fn keep_telling(limiter: Weak<Inner>, untold: Arc<Notify>) {
    loop {
        untold.notified().await;
        let Some(soonest) = limiter.upgrade().map(|limiter| limiter.counted.soonest()) else { return };
        let Some(pause) = soonest else { continue };
        tokio::time::sleep(pause).await;
        let Some(limiter) = limiter.upgrade() else { return };
        limiter.counted.tell(&limiter.store, &limiter.clock).await;
    }
}

/// Gives back what was taken ahead and not spent in its time, for as long as the limiter is there.
async fn keep_giving_back(limiter: Weak<Inner>, held: Arc<Notify>) {
    loop {
        held.notified().await;
        if limiter.strong_count() == 0 {
            return;
        }
        tokio::time::sleep(LOOK_AFTER).await;
        let Some(limiter) = limiter.upgrade() else { return };
        if let Err(error) = limiter.withdraw(Withdraw::Expired).await {
            tracing::warn!(%error, "what was taken ahead and not spent is missing until its window ends");
        }
    }
}

impl Inner {
    async fn decide(&self, request: &Request<'_>) -> Result<Decision, LimitError> {
        let plan = Plan::new(&self.policies.load(), &self.keys, request);
        if plan.is_empty() {
            return Ok(Decision::unlimited());
        }
        if let Some(refused) = self.refusals.find(&plan) {
            return Ok(refused);
        }
        Round::new(self, &plan).run(plan).await
    }

    async fn give_back(&self, decision: Decision, what: GiveBack) -> Result<(), LimitError> {
        let mut plans = Vec::new();
        for Charge { scope, lease, place } in decision.charges {
            self.refusals.forget(&scope);
            match (place, what) {
                (ChargedIn::Store, _) => plans.push((Plan::with_id(lease, vec![scope]), 0)),
                (ChargedIn::Outage, _) => self.outage.give_back(&scope, lease, what),
                (ChargedIn::Lease, GiveBack::All) => self.leases.account(&scope).await.put_back(scope.cost),
                (ChargedIn::Count, GiveBack::All) => {
                    let cost = self.counted.give_back(&scope);
                    plans.extend((cost > 0).then(|| (Plan::of(vec![scope.costing(cost)]), 0)));
                }
                (ChargedIn::Lease | ChargedIn::Count, GiveBack::Leases) => {}
            }
        }
        if what == GiveBack::Leases {
            plans.retain(|(plan, _)| plan.has_leases());
        }
        self.refund(&plans, what).await
    }

    async fn withdraw(&self, what: Withdraw) -> Result<(), LimitError> {
        self.refund(&self.leases.withdraw(what), GiveBack::All).await
    }

    async fn refund(&self, plans: &[(Plan, u64)], what: GiveBack) -> Result<(), LimitError> {
        if plans.is_empty() {
            return Ok(());
        }
        strict::refund(&self.store, &self.clock, plans, what).await.map_err(LimitError::NotGivenBack)
    }
}
