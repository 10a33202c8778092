//! A local counter of one scope, and what of it Redis wasn't reported yet.

use std::time::Instant;

use crate::decide::plan::Scope;
use crate::decide::redis_decide::Count;
use crate::local::LocalScope;
use crate::policy::tier::{Tier, TierKind};

#[derive(Debug)]
pub(super) struct CountedScope {
    pub(super) scope: Scope,
    /// As Redis reported it, with what was counted here since.
    pub(super) state: LocalScope,
    pub(super) unreported: Unreported,
}

/// What wasn't reported to Redis yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unreported {
    /// Below 0: calls that were reported and then taken back.
    pub(super) calls: i64,
    /// None: there is nothing to report.
    pub(super) since: Option<Instant>,
    /// µs of the Redis clock from which on nothing is taken back: it would be of another window.
    ends_us: Option<u64>,
}

impl CountedScope {
    /// With nothing consumed.
    pub(super) fn new(scope: &Scope, now: u64) -> Self {
        let mut state = LocalScope::new(scope.phases(now));
        state.advance(now, scope.phases(now));
        Self { scope: scope.clone(), state, unreported: Unreported::default() }
    }

    pub(super) fn is_of(&self, scope: &Scope) -> bool {
        self.scope.policy.fingerprint() == scope.policy.fingerprint()
    }

    /// Begins with what Redis has of these tiers. What it wasn't reported yet is reported under them.
    pub(super) fn begin(&mut self, scope: &Scope, packed: &[u8], now: u64) {
        *self = Self { unreported: self.unreported, ..Self::new(scope, now) };
        self.state.read(packed, scope.policy.fingerprint());
        self.state.advance(now, scope.phases(now));
        self.count_unreported();
    }

    pub(super) fn take_unreported(&mut self) -> (Count, Unreported) {
        let unreported = std::mem::take(&mut self.unreported);
        (Count::of(&self.scope, unreported.calls, unreported.ends_us), unreported)
    }

    pub(super) fn learn(&mut self, packed: &[u8]) {
        // Of other tiers: a replica that has another version of the policy has written it last. The next time, then.
        if self.state.read(packed, self.scope.policy.fingerprint()).is_some() {
            self.count_unreported();
        }
    }

    fn count_unreported(&mut self) {
        let calls = self.unreported.calls;
        if calls > 0 {
            self.state.charge(calls.unsigned_abs(), 0);
        } else if calls < 0 {
            self.state.refund(calls.unsigned_abs(), 0);
        }
    }

    /// µs of the Redis clock at which the first of its windows ends; None: it has none.
    pub(super) fn window_ends(&self) -> Option<u64> {
        let tiers = self.scope.policy.tiers_in_store().iter().zip(self.state.left());
        let resets = tiers.filter(|(tier, _)| is_window(tier)).map(|(_, left)| left.resets).min();
        resets.map(|resets| self.state.last() + resets)
    }
}

impl Unreported {
    pub(super) fn add(&mut self, calls: i64, ends_us: Option<u64>) {
        self.calls = self.calls.saturating_add(calls);
        self.since = if self.calls == 0 { None } else { self.since.or_else(|| Some(Instant::now())) };
        let ends_us = self.ends_us.into_iter().chain(ends_us).min();
        self.ends_us = ends_us.filter(|_| self.calls < 0);
    }

    /// Takes again what may have been reported. Twice counted is better than not at all: nothing is taken back again.
    pub(super) fn put_back(&mut self, lost: Self) {
        if lost.calls > 0 {
            self.since = lost.since;
            self.add(lost.calls, None);
        }
    }
}

/// What it counts is forgotten at the end of a window.
fn is_window(tier: &Tier) -> bool {
    matches!(tier.kind(), TierKind::Fixed(_) | TierKind::Sliding)
}

pub(super) fn signed(calls: u64) -> i64 {
    i64::try_from(calls).unwrap_or(i64::MAX)
}
