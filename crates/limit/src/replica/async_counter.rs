//! Counts that a replica keeps on its own and reports Redis every `sync`: the two-layer counter.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dripfeed_store::Store;
use moka::sync::Cache;
use tokio::sync::Notify;

use crate::decide::clock::Clock;
use crate::decide::plan::{Plan, Scope};
use crate::decide::redis_decide::{self, PER_CALL};
use crate::decide::verdict::ScopeVerdict;
use crate::local::LocalScope;
use crate::policy::consistency::Consistency;

const MOST: u64 = 100_000;

#[derive(Debug)]
pub(crate) struct AsyncCounter {
    accounts: Cache<String, Arc<Mutex<Account>>>,
    /// There is something to report.
    dirty: Arc<Notify>,
    /// Redis couldn't be reported the last time.
    failing: AtomicBool,
}

#[derive(Debug)]
struct Account {
    scope: Scope,
    /// As Redis reported it, with what was counted here since.
    state: LocalScope,
    untold: Untold,
}

/// What Redis wasn't reported yet.
#[derive(Clone, Copy, Debug, Default)]
struct Untold {
    calls: u64,
    since: Option<Instant>,
}

impl AsyncCounter {
    pub(crate) fn new() -> Self {
        Self {
            accounts: Cache::builder().max_capacity(MOST).time_to_idle(Duration::from_hours(1)).build(),
            dirty: Arc::default(),
            failing: AtomicBool::new(false),
        }
    }

    /// Judges by what is known here, and counts if it passes. None: Redis is away for too long to go on.
    pub(crate) fn take(&self, scope: &Scope, clock: &Clock) -> Option<ScopeVerdict> {
        let now = clock.now_us();
        let account = self.account(scope, now);
        let mut account = lock(&account);
        if account.untold.since.is_some_and(|since| since.elapsed() > out_of_touch(scope)) {
            return None;
        }
        account.state.advance(now, scope.phases(now));
        let verdict = account.state.take(scope.cost, 0);
        if verdict.taken > 0 {
            account.untold.add(Untold { calls: verdict.taken, since: Some(Instant::now()) });
            self.dirty.notify_one();
        }
        Some(verdict)
    }

    /// Takes back what was counted; shows what of it Redis knows already.
    pub(crate) fn refund(&self, scope: &Scope) -> u64 {
        let Some(account) = self.accounts.get(&scope.key) else { return scope.cost };
        let mut account = lock(&account);
        account.state.refund(scope.cost, 0);
        let untold = account.untold.calls.min(scope.cost);
        account.untold.calls -= untold;
        scope.cost - untold
    }

    /// Is notified when something was counted, and when this is dropped.
    pub(crate) fn dirty(&self) -> Arc<Notify> {
        self.dirty.clone()
    }

    /// The shortest time in which one of the scopes wants to be reported of; None: there is nothing to report.
    pub(crate) fn soonest(&self) -> Option<Duration> {
        self.untold().iter().map(|account| sync(&lock(account).scope)).min()
    }

    /// Reports Redis all that was counted, and learns what the others have.
    pub(crate) async fn tell(&self, store: &Store, clock: &Clock) {
        for part in self.untold().chunks(PER_CALL) {
            self.tell_part(part, store, clock).await;
        }
    }

    async fn tell_part(&self, part: &[Arc<Mutex<Account>>], store: &Store, clock: &Clock) {
        let taken: Vec<(Plan, Untold)> = part.iter().map(|account| lock(account).take_untold()).collect();
        let (plans, untold): (Vec<Plan>, Vec<Untold>) = taken.into_iter().unzip();
        match redis_decide::count(store, clock, &plans).await {
            Ok(states) => {
                self.failing.store(false, Ordering::Relaxed);
                for (account, state) in part.iter().zip(states) {
                    lock(account).learn(&state);
                }
            }
            Err(error) => {
                // It may have been counted. Twice is better than not at all.
                for (account, untold) in part.iter().zip(untold) {
                    lock(account).untold.add(untold);
                }
                self.dirty.notify_one();
                if !self.failing.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%error, "could not report counts to Redis; trying again");
                }
            }
        }
    }

    fn untold(&self) -> Vec<Arc<Mutex<Account>>> {
        let accounts = self.accounts.iter().map(|(_, account)| account);
        accounts.filter(|account| lock(account).untold.calls > 0).collect()
    }

    fn account(&self, scope: &Scope, now: u64) -> Arc<Mutex<Account>> {
        let fresh =
            || Account { scope: scope.clone(), state: LocalScope::new(scope.phases(now)), untold: Untold::default() };
        let account = self.accounts.get_with_by_ref(scope.key.as_str(), || Arc::new(Mutex::new(fresh())));
        {
            let mut known = lock(&account);
            if known.scope.policy.fingerprint() != scope.policy.fingerprint() {
                // Redis converts what it was reported; what it wasn't is reported under the new tiers.
                *known = Account { untold: known.untold, ..fresh() };
            }
        }
        account
    }
}

impl Drop for AsyncCounter {
    fn drop(&mut self) {
        self.dirty.notify_one();
    }
}

impl Account {
    fn take_untold(&mut self) -> (Plan, Untold) {
        let untold = std::mem::take(&mut self.untold);
        (Plan::of(vec![self.scope.costing(untold.calls)]), untold)
    }

    fn learn(&mut self, packed: &[u8]) {
        // Of other tiers: a replica that has another version of the policy has written it last. The next time, then.
        if self.state.read(packed, self.scope.policy.fingerprint()).is_some() && self.untold.calls > 0 {
            self.state.charge(self.untold.calls, 0);
        }
    }
}

impl Untold {
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.since = self.since.into_iter().chain(other.since).min();
    }
}

fn sync(scope: &Scope) -> Duration {
    match scope.policy.settings().consistency {
        Consistency::Async { sync } => sync,
        Consistency::Strict | Consistency::Leased => Duration::from_secs(1),
    }
}

fn out_of_touch(scope: &Scope) -> Duration {
    2 * sync(scope) + Duration::from_secs(1)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
