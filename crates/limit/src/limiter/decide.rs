//! One decision: first the policies that this replica decides locally, then all others in one script call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::decide::combined::PlacedDecision;
use crate::decide::decision::{Charge, ChargedIn, Decision, PolicyVerdict};
use crate::decide::plan::{Plan, Scope};
use crate::decide::redis_decide::{self, DecideError, DecideReply, Refund};
use crate::decide::verdict::ScopeVerdict;
use crate::error::LimitError;
use crate::limiter::limiter_state::LimiterState;
use crate::limiter::taking_ahead::{Account, decide_taking_ahead};
use crate::policy::consistency::Consistency;
use crate::replica::leased::SHARE;
use crate::replica::outage::OutageVerdict;

pub(crate) struct PendingDecision<'l> {
    state: &'l Arc<LimiterState>,
    began: Instant,
    /// The id of the leases that it takes.
    lease: u64,
    judged: Vec<JudgedScope>,
    /// When the call to Redis was sent, and when its reply came.
    asked: Option<(Instant, Instant)>,
}

struct JudgedScope {
    /// The index of the scope in the plan.
    at: usize,
    scope: Scope,
    verdict: ScopeVerdict,
    place: ChargedIn,
    /// When it was decided, in µs of the Redis clock.
    at_us: u64,
}

/// A scope that Redis must decide, with its locked lease account, for which other requests wait.
struct PendingScope {
    at: usize,
    scope: Scope,
    account: Option<Account>,
}

impl<'l> PendingDecision<'l> {
    pub(crate) fn new(state: &'l Arc<LimiterState>, plan: &Plan) -> Self {
        Self { state, began: Instant::now(), lease: plan.id(), judged: Vec::new(), asked: None }
    }

    pub(crate) async fn run(mut self, plan: Plan) -> Result<PlacedDecision, LimitError> {
        let (counted, shared): (Vec<_>, Vec<_>) =
            plan.into_scopes().into_iter().enumerate().partition(|(_, scope)| is_counted(scope));
        let known = self.count(counted).await;
        if known.is_err() || self.is_refused() {
            return self.finish(known).await;
        }
        let pending = self.spend(shared).await;
        let answered = if pending.is_empty() { Ok(()) } else { self.ask(pending).await };
        self.finish(answered).await
    }

    /// The rest of the timeout of Redis.
    fn patience(&self) -> Duration {
        self.state.patience.saturating_sub(self.began.elapsed())
    }

    /// Decides scopes with the consistency `async`, by local counters.
    async fn count(&mut self, scopes: Vec<(usize, Scope)>) -> Result<(), LimitError> {
        let LimiterState { async_counter, store, clock, .. } = &**self.state;
        let unknown: Vec<&Scope> = scopes.iter().map(|(_, scope)| scope).collect();
        async_counter.look_up(&unknown, store, clock, self.patience()).await;
        for (at, scope) in scopes {
            match async_counter.take(&scope, clock) {
                Some(verdict) => self.judge(at, scope, verdict, ChargedIn::Count),
                None => self.without_redis(at, scope, None)?,
            }
        }
        Ok(())
    }

    /// Spends quota that was leased in advance. Returns the scopes that Redis must decide.
    async fn spend(&mut self, mut scopes: Vec<(usize, Scope)>) -> Vec<PendingScope> {
        // Accounts are locked in the order of their keys, so that requests can't deadlock.
        scopes.sort_by(|(_, left), (_, right)| left.key.cmp(&right.key));
        let mut pending = Vec::new();
        for (at, scope) in scopes {
            if scope.policy.settings().consistency != Consistency::Leased {
                pending.push(PendingScope { at, scope, account: None });
                continue;
            }
            let mut account = self.state.leases.account(&scope).await;
            match account.spend(scope.cost) {
                Some(verdict) => self.judge(at, scope, verdict, ChargedIn::Lease),
                // A check without cost leases nothing.
                None => {
                    let scope = if scope.cost == 0 { scope } else { scope.taking_ahead(SHARE) };
                    pending.push(PendingScope { at, scope, account: Some(account) });
                }
            }
        }
        pending
    }

    async fn ask(&mut self, pending: Vec<PendingScope>) -> Result<(), LimitError> {
        let scopes = pending.iter().map(|pending| pending.scope.clone()).collect();
        let plan = Plan::with_id(self.lease, scopes);
        let (scopes, accounts): (Vec<_>, Vec<_>) =
            pending.into_iter().map(|PendingScope { at, scope, account }| ((at, scope), account)).unzip();
        let (sent, patience) = (Instant::now(), self.patience());
        let answer = if accounts.iter().any(Option::is_some) {
            decide_taking_ahead(self.state, plan, accounts, patience).await
        } else {
            redis_decide::decide(&self.state.store, &self.state.clock, &plan, patience).await
        };
        match answer {
            Ok(answer) => {
                self.learn(scopes, answer, sent);
                Ok(())
            }
            Err(DecideError::BadReply) => Err(LimitError::Reply),
            Err(DecideError::Unavailable(error)) => {
                for (at, scope) in scopes {
                    self.without_redis(at, scope, error.as_ref())?;
                }
                Ok(())
            }
        }
    }

    /// Records a verdict that was made without Redis.
    fn judge(&mut self, at: usize, scope: Scope, verdict: ScopeVerdict, place: ChargedIn) {
        self.judged.push(JudgedScope { at, scope, verdict, place, at_us: self.state.clock.now_us() });
    }

    fn learn(&mut self, scopes: Vec<(usize, Scope)>, answer: DecideReply, sent: Instant) {
        self.asked = Some((sent, Instant::now()));
        for ((at, scope), verdict) in scopes.into_iter().zip(answer.verdicts) {
            self.judged.push(JudgedScope { at, scope, verdict, place: ChargedIn::Store, at_us: answer.now_us });
        }
    }

    fn without_redis(
        &mut self,
        at: usize,
        scope: Scope,
        error: Option<&dripfeed_store::StoreError>,
    ) -> Result<(), LimitError> {
        match self.state.outage.answer(&scope, self.lease, &self.state.clock) {
            OutageVerdict::Here(verdict) => {
                self.judge(at, scope, verdict, ChargedIn::Outage);
            }
            OutageVerdict::Unchecked => self.state.tally.unchecked(scope.policy.id(), self.state.minute()),
            OutageVerdict::Closed => {
                return Err(LimitError::Unavailable { policy: scope.policy.id().clone(), source: error.cloned() });
            }
        }
        Ok(())
    }

    fn is_refused(&self) -> bool {
        self.judged.iter().any(|judged| !judged.verdict.passed && !judged.scope.policy.is_shadow())
    }

    /// Returns the decision. Unless the request is allowed, refunds what was charged already.
    async fn finish(mut self, answered: Result<(), LimitError>) -> Result<PlacedDecision, LimitError> {
        if answered.is_err() || self.is_refused() {
            self.undo().await;
        }
        answered?;
        self.remember();
        self.judged.sort_by_key(|judged| judged.at);
        let verdicts =
            self.judged.iter().map(|judged| PolicyVerdict::of(&judged.scope, judged.verdict.clone())).collect();
        let mut decision = Decision::of(verdicts);
        let places = self.judged.iter().map(|judged| judged.at).collect();
        if decision.allowed {
            let charged = self.judged.into_iter().filter(|judged| judged.verdict.taken > 0);
            let lease = self.lease;
            let charge = |JudgedScope { scope, place, at_us, .. }| Charge { scope, lease, place, at_us };
            decision.charges = charged.map(charge).collect();
        }
        Ok(PlacedDecision { decision, places })
    }

    /// Caches the verdicts of all scopes of a refusal, because any of them may have the longest wait.
    fn remember(&self) {
        if let (true, Some((asked, answered))) = (self.is_refused(), self.asked) {
            for judged in self.judged.iter().filter(|judged| judged.place != ChargedIn::Outage) {
                self.state.refusals.remember(&judged.scope, &judged.verdict, asked, answered);
            }
        }
    }

    /// Refunds local charges: they are made before Redis decides, which may refuse the request.
    async fn undo(&mut self) {
        for JudgedScope { scope, verdict, place, .. } in &mut self.judged {
            if verdict.taken == 0 {
                continue;
            }
            let left = match place {
                ChargedIn::Store => continue,
                ChargedIn::Lease => {
                    self.state.leases.account(scope).await.put_back(scope.cost);
                    Vec::new()
                }
                ChargedIn::Count => self.state.async_counter.refund(scope, &self.state.clock),
                ChargedIn::Outage => self.state.outage.refund(scope, self.lease, Refund::All),
            };
            for ((_, shown), left) in verdict.tiers.iter_mut().zip(left) {
                *shown = left;
            }
            verdict.taken = 0;
        }
    }
}

fn is_counted(scope: &Scope) -> bool {
    matches!(scope.policy.settings().consistency, Consistency::Async { .. })
}
