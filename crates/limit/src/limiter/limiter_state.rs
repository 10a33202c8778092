//! The state of a limiter, and refunds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use dripfeed_store::Store;

use crate::decide::clock::Clock;
use crate::decide::counts::VerdictCounts;
use crate::decide::decision::{Charge, ChargedIn, Decision};
use crate::decide::minutes::{Minute, VerdictHistory};
use crate::decide::plan::Plan;
use crate::decide::redis_decide::{self, Refund, Refunded};
use crate::decide::tally::VerdictTally;
use crate::error::LimitError;
use crate::policy::PolicyId;
use crate::policy::keys::ScopeKeys;
use crate::policy::policies::Policies;
use crate::policy::request::Request;
use crate::replica::async_counter::AsyncCounter;
use crate::replica::lease_account::Withdraw;
use crate::replica::leased::Leases;
use crate::replica::outage::Outage;
use crate::replica::refusal_cache::RefusalCache;

#[derive(Debug)]
pub(crate) struct LimiterState {
    pub(crate) store: Store,
    /// The timeout of Redis in a decision.
    pub(crate) patience: Duration,
    keys: ScopeKeys,
    policies: ArcSwap<Policies>,
    pub(crate) clock: Clock,
    pub(crate) refusals: RefusalCache,
    pub(crate) leases: Leases,
    pub(crate) async_counter: AsyncCounter,
    pub(crate) outage: Outage,
    pub(crate) tally: VerdictTally,
}

impl LimiterState {
    pub(crate) fn new(store: Store, tag: &str, policies: Policies, patience: Duration) -> Self {
        Self {
            keys: ScopeKeys::new(store.prefix(), tag, store.salt().clone()),
            store,
            patience,
            policies: ArcSwap::from_pointee(policies),
            clock: Clock::new(),
            refusals: RefusalCache::new(),
            leases: Leases::new(Leases::MOST),
            async_counter: AsyncCounter::new(AsyncCounter::MOST),
            outage: Outage::new(),
            tally: VerdictTally::default(),
        }
    }

    pub(crate) fn policies(&self) -> Arc<Policies> {
        self.policies.load_full()
    }

    pub(crate) fn replace(&self, policies: Policies) {
        self.policies.store(Arc::new(policies));
        self.forget_removed_policies();
        self.refusals.forget_all();
    }

    /// The decisions so far, for the current policies.
    pub(crate) fn counts(&self) -> BTreeMap<PolicyId, VerdictCounts> {
        self.forget_removed_policies();
        self.tally.all()
    }

    pub(crate) fn history(&self) -> VerdictHistory {
        self.forget_removed_policies();
        self.tally.history(self.clock.now_us())
    }

    /// Removes counts of other policies: a decision that began before its policy was removed is counted, too.
    fn forget_removed_policies(&self) {
        let policies = self.policies.load();
        self.tally.retain(|id| policies.iter().any(|policy| policy.id() == id));
    }

    pub(crate) fn minute(&self) -> Minute {
        Minute::of_us(self.clock.now_us())
    }

    pub(crate) fn plan(&self, request: &Request<'_>) -> Plan {
        Plan::new(&self.policies.load(), &self.keys, request)
    }

    pub(crate) async fn refund_decision(&self, decision: Decision, what: Refund) -> Result<(), LimitError> {
        let mut plans = Vec::new();
        for Charge { scope, lease, place, at_us } in decision.charges {
            self.refusals.forget(&scope);
            match (place, what) {
                (ChargedIn::Store, _) => {
                    let plan = Plan::with_id(lease, vec![scope]);
                    plans.push(Refunded { plan, before_us: 0, charged_us: at_us });
                }
                (ChargedIn::Outage, _) => drop(self.outage.refund(&scope, lease, what)),
                (ChargedIn::Lease, Refund::All) => self.leases.account(&scope).await.put_back(scope.cost),
                (ChargedIn::Count, Refund::All) => drop(self.async_counter.refund(&scope, &self.clock)),
                (ChargedIn::Lease | ChargedIn::Count, Refund::Leases) => {}
            }
        }
        if what == Refund::Leases {
            plans.retain(|refunded| refunded.plan.has_leases());
        }
        self.refund_plans(&plans, what).await
    }

    pub(crate) async fn withdraw(&self, what: Withdraw) -> Result<(), LimitError> {
        self.refund_plans(&self.leases.withdraw(what), Refund::All).await
    }

    async fn refund_plans(&self, plans: &[Refunded], what: Refund) -> Result<(), LimitError> {
        if plans.is_empty() {
            return Ok(());
        }
        redis_decide::refund(&self.store, &self.clock, plans, what).await.map_err(LimitError::NotRefunded)
    }
}
