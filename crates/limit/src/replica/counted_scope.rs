//! The local counter of one scope, and its calls that haven't been reported to Redis yet.

use std::time::{Duration, Instant};

use crate::decide::clock::micros;
use crate::decide::plan::Scope;
use crate::decide::redis_decide::Count;
use crate::decide::verdict::Remaining;
use crate::local::LocalScope;
use crate::policy::consistency::Consistency;
use crate::policy::tier::{Tier, TierKind};

#[derive(Debug)]
pub(super) struct CountedScope {
    pub(super) scope: Scope,
    /// The state that Redis returned, with the calls that were counted here since.
    pub(super) state: LocalScope,
    pub(super) unreported: Unreported,
}

/// Calls that haven't been reported to Redis yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unreported {
    /// Negative for calls that were reported and then refunded.
    pub(super) calls: i64,
    /// When the first of them was counted. `None` if there is nothing to report.
    pub(super) since: Option<Instant>,
    /// When the last of them was allowed. `None` if none was since the last report.
    last: Option<Instant>,
    /// µs of the Redis clock after which nothing is refunded, because it would belong to another window.
    ends_us: Option<u64>,
}

impl CountedScope {
    /// A counter with nothing consumed.
    pub(super) fn new(scope: &Scope, now: u64) -> Self {
        let mut state = LocalScope::new(scope.phases(now));
        state.advance(now, scope.phases(now));
        Self { scope: scope.clone(), state, unreported: Unreported::default() }
    }

    pub(super) fn is_of(&self, scope: &Scope) -> bool {
        self.scope.policy.fingerprint() == scope.policy.fingerprint()
    }

    /// Restarts the counter with a state from Redis. Unreported calls will be reported under the new tiers.
    pub(super) fn begin(&mut self, scope: &Scope, packed: &[u8], now: u64) {
        *self = Self { unreported: self.unreported, ..Self::new(scope, now) };
        self.state.read(packed, scope.policy.fingerprint());
        self.count_unreported(now);
        self.state.advance(now, scope.phases(now));
    }

    pub(super) fn take_unreported(&mut self) -> (Count, Unreported) {
        let unreported = std::mem::take(&mut self.unreported);
        let calls = unreported.calls.unsigned_abs();
        let count = match unreported.calls {
            0.. => Count::charge(&self.scope, calls, unreported.last.unwrap_or_else(Instant::now)),
            _ => Count::refund(&self.scope, calls, unreported.ends_us),
        };
        (count, unreported)
    }

    /// Restores calls after a failed report. Returns the scope.
    pub(super) fn put_back(&mut self, lost: Unreported) -> Scope {
        self.unreported.put_back(lost);
        self.scope.clone()
    }

    /// Replaces the state by that of Redis. `now`: µs of the Redis clock.
    pub(super) fn learn(&mut self, packed: &[u8], now: u64) {
        // Ignores the state of a replica with another version of the policy.
        if self.state.read(packed, self.scope.policy.fingerprint()).is_some() {
            self.count_unreported(now);
        }
    }

    /// Charges unreported calls to the state, which may be older than they are.
    fn count_unreported(&mut self, now: u64) {
        let Unreported { calls, last, .. } = self.unreported;
        if calls > 0 {
            let ago = last.map_or(0, |last| micros(last.elapsed()));
            let passed = now.saturating_sub(ago).max(self.state.last());
            self.state.advance(passed, self.scope.phases(passed));
            self.state.charge(calls.unsigned_abs(), 0);
        } else if calls < 0 {
            self.state.refund(calls.unsigned_abs(), 0);
        }
    }

    /// Returns what is left then.
    pub(super) fn refund(&mut self, cost: u64) -> Vec<Remaining> {
        let ends_us = self.window_ends();
        self.state.refund(cost, 0);
        self.unreported.add(-signed(cost), ends_us);
        self.state.left()
    }

    /// µs of the Redis clock when the first of its windows ends. `None` without windows.
    fn window_ends(&self) -> Option<u64> {
        let tiers = self.scope.policy.tiers_in_store().iter().zip(self.state.left());
        let resets = tiers.filter(|(tier, _)| is_window(tier)).map(|(_, left)| left.resets).min();
        resets.map(|resets| self.state.last() + resets)
    }
}

impl Unreported {
    pub(super) fn add(&mut self, calls: i64, ends_us: Option<u64>) {
        self.calls = self.calls.saturating_add(calls);
        self.since = if self.calls == 0 { None } else { self.since.or_else(|| Some(Instant::now())) };
        if calls > 0 {
            self.last = Some(Instant::now());
        }
        let ends_us = self.ends_us.into_iter().chain(ends_us).min();
        self.ends_us = ends_us.filter(|_| self.calls < 0);
    }

    /// Restores calls that may have been reported: counting them twice is better than not at all. Refunds aren't
    /// restored.
    fn put_back(&mut self, lost: Self) {
        if lost.calls > 0 {
            let last = self.last.or(lost.last);
            self.since = lost.since;
            self.add(lost.calls, None);
            self.last = last;
        }
    }
}

fn is_window(tier: &Tier) -> bool {
    matches!(tier.kind(), TierKind::Fixed(_) | TierKind::Sliding)
}

/// How often the counter is reported.
pub(super) fn sync(scope: &Scope) -> Duration {
    match scope.policy.settings().consistency {
        Consistency::Async { sync } => sync,
        Consistency::Strict | Consistency::Leased => Duration::from_secs(1),
    }
}

/// How long the counter is used without a successful report.
pub(super) fn out_of_touch(scope: &Scope) -> Duration {
    2 * sync(scope) + Duration::from_secs(1)
}

pub(super) fn signed(calls: u64) -> i64 {
    i64::try_from(calls).unwrap_or(i64::MAX)
}
