//! What a limiter is made of, and how charges are given back, wherever they were made.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use dripfeed_store::Store;

use crate::clock::Clock;
use crate::counted::Counted;
use crate::decision::{Charge, ChargedIn, Decision};
use crate::error::LimitError;
use crate::keys::ScopeKeys;
use crate::leased::{Leases, Withdraw};
use crate::outage::Outage;
use crate::plan::Plan;
use crate::policies::Policies;
use crate::refusals::Refusals;
use crate::request::Request;
use crate::strict::{self, GiveBack};
use crate::tally::Tally;

#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) store: Store,
    /// How long Redis is waited for.
    pub(crate) patience: Duration,
    keys: ScopeKeys,
    policies: ArcSwap<Policies>,
    pub(crate) clock: Clock,
    pub(crate) refusals: Refusals,
    pub(crate) leases: Leases,
    pub(crate) counted: Counted,
    pub(crate) outage: Outage,
    pub(crate) tally: Tally,
}

impl Core {
    pub(crate) fn new(store: Store, tag: &str, policies: Policies, patience: Duration) -> Self {
        Self {
            keys: ScopeKeys::new(store.prefix(), tag),
            store,
            patience,
            policies: ArcSwap::from_pointee(policies),
            clock: Clock::new(),
            refusals: Refusals::new(),
            leases: Leases::new(),
            counted: Counted::new(),
            outage: Outage::new(),
            tally: Tally::default(),
        }
    }

    pub(crate) fn policies(&self) -> Arc<Policies> {
        self.policies.load_full()
    }

    pub(crate) fn replace(&self, policies: Policies) {
        self.policies.store(Arc::new(policies));
        self.refusals.forget_all();
    }

    pub(crate) fn plan(&self, request: &Request<'_>) -> Plan {
        Plan::new(&self.policies.load(), &self.keys, request)
    }

    pub(crate) async fn give_back(&self, decision: Decision, what: GiveBack) -> Result<(), LimitError> {
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

    pub(crate) async fn withdraw(&self, what: Withdraw) -> Result<(), LimitError> {
        self.refund(&self.leases.withdraw(what), GiveBack::All).await
    }

    async fn refund(&self, plans: &[(Plan, u64)], what: GiveBack) -> Result<(), LimitError> {
        if plans.is_empty() {
            return Ok(());
        }
        strict::refund(&self.store, &self.clock, plans, what).await.map_err(LimitError::NotGivenBack)
    }
}
