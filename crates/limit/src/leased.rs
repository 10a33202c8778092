//! Calls that a replica takes ahead and spends by itself.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use moka::sync::Cache;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::decision::ScopeVerdict;
use crate::local::Left;
use crate::plan::{Plan, Scope};
use crate::wait::Wait;

/// One of so many calls that are left is taken ahead: the less is left, the less a replica holds back from the others.
pub(crate) const SHARE: u16 = 32;
const MOST: u64 = 100_000;

#[derive(Debug)]
pub(crate) struct Leases(Cache<String, Arc<Mutex<Account>>>);

/// What this replica holds for one scope.
#[derive(Debug)]
pub(crate) struct Account {
    /// The oldest first.
    stock: VecDeque<Stock>,
    scope: Scope,
    /// As Redis told it last.
    tiers: Vec<Left>,
}

#[derive(Debug)]
struct Stock {
    calls: u64,
    /// When it was asked for; it was taken later.
    taken: Instant,
    until: Instant,
    /// When it is no longer given back, in µs of the Redis clock; 0: at any time.
    before_us: u64,
}

impl Leases {
    pub(crate) fn new() -> Self {
        Self(Cache::builder().max_capacity(MOST).time_to_idle(Duration::from_hours(1)).build())
    }

    /// The account of a scope, for one request at a time: while one asks Redis, those that come meanwhile wait for what it
    /// brings.
    pub(crate) async fn account(&self, scope: &Scope) -> OwnedMutexGuard<Account> {
        let fresh = || Account { stock: VecDeque::new(), scope: scope.clone(), tiers: Vec::new() };
        let account = self.0.get_with_by_ref(scope.key.as_str(), || Arc::new(Mutex::new(fresh())));
        let mut account = account.lock_owned().await;
        if account.scope.policy.fingerprint() != scope.policy.fingerprint() {
            // Taken under other tiers: not to be spent under these.
            *account = fresh();
        }
        account
    }

    /// Empties all accounts that nobody uses right now: what can be given back, and before when.
    pub(crate) fn withdraw(&self) -> Vec<(Plan, u64)> {
        let accounts = self.0.iter().filter_map(|(_, account)| account.try_lock_owned().ok());
        accounts.flat_map(|mut account| account.withdraw()).collect()
    }
}

impl Account {
    /// Spends `n` if they are there.
    pub(crate) fn spend(&mut self, n: u64) -> Option<ScopeVerdict> {
        let now = Instant::now();
        self.stock.retain(|stock| now < stock.until);
        if self.stock.iter().map(|stock| stock.calls).sum::<u64>() < n || self.tiers.is_empty() {
            return None;
        }
        let mut rest = n;
        while let Some(oldest) = self.stock.front_mut()
            && rest > 0
        {
            let part = rest.min(oldest.calls);
            oldest.calls -= part;
            rest -= part;
            if oldest.calls == 0 {
                self.stock.pop_front();
            }
        }
        let tiers = self.tiers.iter().map(|left| (Wait::Ready, *left)).collect();
        Some(ScopeVerdict { passed: true, taken: n, tiers })
    }

    /// Keeps what was taken beyond what was asked for, at `now_us` of the Redis clock.
    pub(crate) fn stock_up(&mut self, scope: &Scope, verdict: &ScopeVerdict, sent: Instant, now_us: u64) {
        self.tiers = verdict.tiers.iter().map(|(_, left)| *left).collect();
        let calls = verdict.taken.saturating_sub(scope.cost);
        let windows = || scope.policy.tiers().iter().zip(&self.tiers).filter(|(tier, _)| tier.lease().is_none());
        let ends = windows().map(|(_, left)| left.resets).min();
        let lease = scope.policy.tiers().iter().filter_map(|tier| tier.lease()).min();
        let Some(good_for) = ends.map(Duration::from_micros).into_iter().chain(lease).min() else { return };
        if calls > 0 {
            let before_us = ends.map_or(0, |ends| now_us + ends);
            self.stock.push_back(Stock { calls, taken: sent, until: sent + good_for, before_us });
        }
    }

    /// Puts back what was spent but not used, to be spent by others while it is good.
    pub(crate) fn put_back(&mut self, n: u64) {
        if let Some(newest) = self.stock.back_mut() {
            newest.calls += n;
        }
    }

    fn withdraw(&mut self) -> Vec<(Plan, u64)> {
        let now = Instant::now();
        let stock = std::mem::take(&mut self.stock);
        let still_good = stock.into_iter().filter(|stock| now < stock.until);
        let back = still_good.filter_map(|stock| {
            let calls = stock.calls.saturating_sub(self.drained(stock.taken));
            (calls > 0).then(|| (Plan::of(vec![self.scope.costing(calls)]), stock.before_us))
        });
        back.collect()
    }

    /// Calls that a bucket has drained since: it has room for others in their place, so they can't be given back.
    fn drained(&self, since: Instant) -> u64 {
        let us = since.elapsed().as_micros();
        let drained = |tier: &crate::Tier| us * u128::from(tier.limit()) / u128::from(tier.period_us()) + 1;
        let tiers = self.scope.policy.tiers().iter().filter(|tier| tier.lease().is_some());
        tiers.map(|tier| u64::try_from(drained(tier)).unwrap_or(u64::MAX)).max().unwrap_or(0)
    }
}
