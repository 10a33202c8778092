//! Quota that a replica leases in advance and spends locally.

use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use tokio::sync::{Mutex, Notify, OwnedMutexGuard};

use crate::decide::plan::Scope;
use crate::decide::redis_decide::Refunded;
use crate::replica::evicted::MOST as MOST_EVICTED;
use crate::replica::lease_account::{LeaseAccount, Withdraw};

/// One of this many remaining calls is leased in advance, so that a replica leases little if little is left.
pub(crate) const SHARE: u16 = 100;

#[derive(Debug)]
pub(crate) struct Leases {
    accounts: Cache<String, Arc<Mutex<LeaseAccount>>>,
    /// Accounts that were evicted from the cache, or are of earlier tiers, with quota to return.
    evicted: EvictedAccounts,
    /// Notified when there is quota that must be spent or returned.
    held: Arc<Notify>,
}

type EvictedAccounts = Arc<parking_lot::Mutex<Vec<Arc<Mutex<LeaseAccount>>>>>;

impl Leases {
    /// Maximum number of accounts.
    pub(crate) const MOST: u64 = 100_000;

    /// With up to `most` accounts.
    pub(crate) fn new(most: u64) -> Self {
        let (evicted, held) = (EvictedAccounts::default(), Arc::<Notify>::default());
        let (kept, noticed) = (Arc::clone(&evicted), Arc::clone(&held));
        let accounts = Cache::builder().max_capacity(most).time_to_idle(Duration::from_hours(1));
        let evict = move |_, account, _| return_later(&kept, &noticed, account);
        Self { accounts: accounts.eviction_listener(evict).build(), evicted, held }
    }

    /// Is notified when quota is leased, and when this is dropped.
    pub(crate) fn held(&self) -> Arc<Notify> {
        self.held.clone()
    }

    /// Locks the account of a scope. While one request calls Redis, the others wait for the quota that it leases.
    pub(crate) async fn account(&self, scope: &Scope) -> OwnedMutexGuard<LeaseAccount> {
        let fresh = || LeaseAccount::new(scope, &self.held);
        let account = self.accounts.get_with_by_ref(scope.key.as_str(), || Arc::new(Mutex::new(fresh())));
        let mut account = account.lock_owned().await;
        if !account.is_of(scope) {
            // Quota that was leased under other tiers can't be spent.
            let earlier = std::mem::replace(&mut *account, fresh());
            return_later(&self.evicted, &self.held, Arc::new(Mutex::new(earlier)));
        }
        account
    }

    /// Removes the quota to return from all accounts that aren't locked.
    pub(crate) fn withdraw(&self, what: Withdraw) -> Vec<Refunded> {
        let mut back = self.withdraw_evicted();
        for (_, account) in &self.accounts {
            match account.try_lock_owned() {
                Ok(mut account) => back.extend(account.withdraw(what)),
                // In use, so it is tried again later.
                Err(_) => self.held.notify_one(),
            }
        }
        back
    }

    fn withdraw_evicted(&self) -> Vec<Refunded> {
        let evicted = std::mem::take(&mut *self.evicted.lock());
        let (mut back, mut in_use) = (Vec::new(), Vec::new());
        for account in evicted {
            match account.try_lock() {
                Ok(mut account) => back.extend(account.withdraw(Withdraw::All)),
                Err(_) => in_use.push(Arc::clone(&account)),
            }
        }
        if !in_use.is_empty() {
            self.evicted.lock().extend(in_use);
            self.held.notify_one();
        }
        back
    }
}

fn return_later(evicted: &EvictedAccounts, held: &Notify, account: Arc<Mutex<LeaseAccount>>) {
    let mut evicted = evicted.lock();
    if evicted.len() < MOST_EVICTED {
        evicted.push(account);
        held.notify_one();
    }
}

/// How often unspent leases are returned.
pub(crate) const RETURN_INTERVAL: Duration = Duration::from_secs(1);

impl Drop for Leases {
    fn drop(&mut self) {
        self.held.notify_one();
    }
}
