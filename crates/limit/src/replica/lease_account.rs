//! Quota that a replica has leased in advance for one scope.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::decide::plan::{Plan, Scope};
use crate::decide::redis_decide::Refunded;
use crate::decide::verdict::{Remaining, ScopeVerdict};
use crate::decide::wait::Wait;

/// Quota that isn't spent within this time is returned, so that it isn't missing elsewhere until the end of a long
/// window.
const LONGEST: Duration = Duration::from_secs(5);

/// Which quota is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Withdraw {
    All,
    /// Quota that wasn't spent in time.
    Expired,
}

/// The leased quota of one scope.
#[derive(Debug)]
pub(crate) struct LeaseAccount {
    /// The oldest first.
    stock: VecDeque<Stock>,
    scope: Scope,
    /// The remaining quota that Redis last returned.
    tiers: Vec<Remaining>,
    held: Arc<Notify>,
}

#[derive(Debug)]
struct Stock {
    calls: u64,
    /// When the lease was requested. Redis granted it later.
    taken: Instant,
    until: Instant,
    /// Time of the Redis clock in µs after which it isn't returned; 0: always returned.
    before_us: u64,
}

impl LeaseAccount {
    /// An empty account. `held` is notified when it gets quota.
    pub(super) fn new(scope: &Scope, held: &Arc<Notify>) -> Self {
        Self { stock: VecDeque::new(), scope: scope.clone(), tiers: Vec::new(), held: Arc::clone(held) }
    }

    pub(super) fn is_of(&self, scope: &Scope) -> bool {
        self.scope.policy.fingerprint() == scope.policy.fingerprint()
    }

    /// Spends `n` calls. Returns `None` if there are less, or if `n` is 0 and the account is empty, since only Redis
    /// knows what is left.
    pub(crate) fn spend(&mut self, n: u64) -> Option<ScopeVerdict> {
        let now = Instant::now();
        let mut good: Vec<&mut Stock> = self.stock.iter_mut().filter(|stock| now < stock.until).collect();
        if good.iter().map(|stock| stock.calls).sum::<u64>() < n.max(1) || self.tiers.is_empty() {
            return None;
        }
        let mut rest = n;
        for stock in &mut good {
            let part = rest.min(stock.calls);
            stock.calls -= part;
            rest -= part;
        }
        // Keeps the newest one even if it is empty, for `put_back`.
        let newest = self.stock.pop_back();
        self.stock.retain(|stock| stock.calls > 0);
        self.stock.extend(newest);
        let tiers = self.tiers.iter().map(|left| (Wait::Ready, *left)).collect();
        Some(ScopeVerdict { passed: true, taken: n, tiers })
    }

    /// Adds the calls that Redis charged beyond the cost of the request, at `now_us` of the Redis clock.
    pub(crate) fn stock_up(&mut self, scope: &Scope, verdict: &ScopeVerdict, sent: Instant, now_us: u64) {
        self.tiers = verdict.tiers.iter().map(|(_, left)| *left).collect();
        let calls = verdict.taken.saturating_sub(scope.cost);
        let windows = || scope.policy.tiers().iter().zip(&self.tiers).filter(|(tier, _)| tier.lease().is_none());
        let ends = windows().map(|(_, left)| left.resets).min();
        let lease = scope.policy.tiers().iter().filter_map(|tier| tier.lease()).min();
        let good_for = ends.map(Duration::from_micros).into_iter().chain(lease).min().unwrap_or_default().min(LONGEST);
        if calls > 0 {
            let before_us = ends.map_or(0, |ends| now_us + ends);
            self.stock.push_back(Stock { calls, taken: sent, until: sent + good_for, before_us });
            self.held.notify_one();
        }
    }

    /// Puts back calls that were spent but not used, for other requests.
    pub(crate) fn put_back(&mut self, n: u64) {
        if let Some(newest) = self.stock.back_mut() {
            newest.calls += n;
        }
    }

    /// Removes the quota to return.
    pub(super) fn withdraw(&mut self, what: Withdraw) -> Vec<Refunded> {
        let now = Instant::now();
        let stock = std::mem::take(&mut self.stock);
        let is_due = |stock: &Stock| what == Withdraw::All || now >= stock.until;
        let (due, kept) = stock.into_iter().partition(is_due);
        self.stock = kept;
        if !self.stock.is_empty() {
            self.held.notify_one();
        }
        let back = |stock: Stock| {
            let calls = stock.calls.saturating_sub(self.drained(stock.taken));
            let plan = || Plan::of(vec![self.scope.costing(calls)]);
            (calls > 0).then(|| Refunded { plan: plan(), before_us: stock.before_us, charged_us: 0 })
        };
        let due: VecDeque<Stock> = due;
        due.into_iter().filter_map(back).collect()
    }

    /// Calls that a bucket has drained since then. They can't be returned, because the bucket has allowed others
    /// instead.
    fn drained(&self, since: Instant) -> u64 {
        let us = since.elapsed().as_micros();
        let drained = |tier: &crate::Tier| us * u128::from(tier.limit()) / u128::from(tier.period_us()) + 1;
        let tiers = self.scope.policy.tiers().iter().filter(|tier| tier.lease().is_some());
        tiers.map(|tier| u64::try_from(drained(tier)).unwrap_or(u64::MAX)).max().unwrap_or(0)
    }
}
