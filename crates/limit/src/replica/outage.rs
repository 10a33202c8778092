//! Decisions while Redis is unavailable.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use moka::sync::Cache;
use parking_lot::Mutex;

use crate::decide::clock::Clock;
use crate::decide::plan::Scope;
use crate::decide::redis_decide::Refund;
use crate::decide::verdict::{Remaining, ScopeVerdict};
use crate::local::LocalScope;
use crate::policy::consistency::OnStoreError;
use crate::policy::tier::Tier;
use crate::policy::wire::Phase;

const MOST: u64 = 100_000;
/// How long a scope's state is kept, so that another short outage doesn't grant its share again.
const REMEMBERED: Duration = Duration::from_hours(24);

/// Decides without Redis, by each replica's share of the limits.
#[derive(Debug)]
pub(crate) struct Outage {
    replicas: AtomicU64,
    scopes: Cache<String, Arc<Mutex<LocalShare>>>,
}

/// A scope with this replica's share of the limits, for the last known number of live replicas.
#[derive(Debug)]
struct LocalShare {
    fingerprint: u32,
    replicas: u64,
    scope: LocalScope,
}

/// How a policy decides without Redis.
pub(crate) enum OutageVerdict {
    /// Decided by this replica's share, and charged to it if allowed.
    Here(ScopeVerdict),
    Unchecked,
    Closed,
}

impl Outage {
    pub(crate) fn new() -> Self {
        Self {
            replicas: AtomicU64::new(1),
            scopes: Cache::builder().max_capacity(MOST).time_to_idle(REMEMBERED).build(),
        }
    }

    pub(crate) fn set_replicas(&self, replicas: u64) {
        self.replicas.store(replicas.max(1), Ordering::Relaxed);
    }

    pub(crate) fn answer(&self, scope: &Scope, lease: u64, clock: &Clock) -> OutageVerdict {
        match scope.policy.settings().on_store_error {
            // A policy in shadow mode refuses nothing.
            _ if scope.policy.is_shadow() => OutageVerdict::Unchecked,
            OnStoreError::Closed => OutageVerdict::Closed,
            OnStoreError::Open => OutageVerdict::Unchecked,
            OnStoreError::Local => {
                self.judge(scope, lease, clock.now_us()).map_or(OutageVerdict::Closed, OutageVerdict::Here)
            }
        }
    }

    /// Returns `None` if the share is less than one call, or than the cost of this request, which may be allowed when
    /// Redis is available again.
    fn judge(&self, scope: &Scope, lease: u64, now_us: u64) -> Option<ScopeVerdict> {
        let replicas = self.replicas.load(Ordering::Relaxed);
        let shares = shares(scope, replicas, now_us)?;
        if !costs_more(scope, scope.policy.tiers_in_store()) && costs_more(scope, shares.iter().map(|(tier, _)| tier)) {
            return None;
        }
        let local_share = self.local_share(scope, &shares, replicas);
        let mut local_share = local_share.lock();
        if local_share.replicas != replicas {
            local_share.replicas = replicas;
            local_share.scope.limit_to(shares.iter().map(|(tier, _)| tier));
        }
        local_share.scope.advance(now_us, shares.iter().map(|(tier, phase)| (tier, *phase)));
        Some(local_share.scope.take(scope.cost, lease))
    }

    /// Returns what is left then.
    pub(crate) fn refund(&self, scope: &Scope, lease: u64, what: Refund) -> Vec<Remaining> {
        let Some(local_share) = self.scopes.get(&scope.key) else { return Vec::new() };
        let mut local_share = local_share.lock();
        match what {
            Refund::All => local_share.scope.refund(scope.cost, lease),
            Refund::Leases => local_share.scope.release(lease),
        }
        local_share.scope.left()
    }

    fn local_share(&self, scope: &Scope, shares: &[(Tier, Phase)], replicas: u64) -> Arc<Mutex<LocalShare>> {
        let fingerprint = scope.policy.fingerprint();
        if let Some(known) = self.scopes.get(&scope.key)
            && known.lock().fingerprint == fingerprint
        {
            return known;
        }
        let local = LocalScope::new(shares.iter().map(|(tier, phase)| (tier, *phase)));
        let local_share = Arc::new(Mutex::new(LocalShare { fingerprint, replicas, scope: local }));
        self.scopes.insert(scope.key.clone(), local_share.clone());
        local_share
    }
}

fn costs_more<'t>(scope: &Scope, tiers: impl IntoIterator<Item = &'t Tier>) -> bool {
    tiers.into_iter().any(|tier| scope.cost > tier.most())
}

fn shares(scope: &Scope, replicas: u64, now_us: u64) -> Option<Vec<(Tier, Phase)>> {
    let share = |(tier, phase): (&Tier, _)| Some((tier.share(replicas)?, phase));
    scope.phases(now_us).map(share).collect()
}
