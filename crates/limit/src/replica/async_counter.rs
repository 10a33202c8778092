//! Local counters that are reported to Redis every `sync`: a two-layer counter.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dripfeed_store::Store;
use moka::sync::Cache;
use parking_lot::Mutex;
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
    scopes: Cache<String, Arc<Mutex<CountedScope>>>,
    /// There is something to report.
    dirty: Arc<Notify>,
    /// The last report to Redis failed.
    failing: AtomicBool,
}

#[derive(Debug)]
struct CountedScope {
    scope: Scope,
    /// As Redis reported it, with what was counted here since.
    state: LocalScope,
    unreported: Unreported,
}

/// What wasn't reported to Redis yet.
#[derive(Clone, Copy, Debug, Default)]
struct Unreported {
    calls: u64,
    since: Option<Instant>,
}

impl AsyncCounter {
    pub(crate) fn new() -> Self {
        Self {
            scopes: Cache::builder().max_capacity(MOST).time_to_idle(Duration::from_hours(1)).build(),
            dirty: Arc::default(),
            failing: AtomicBool::new(false),
        }
    }

    /// Judges by what is known here, and counts if it passes. None: Redis is away for too long to go on.
    pub(crate) fn take(&self, scope: &Scope, clock: &Clock) -> Option<ScopeVerdict> {
        let now = clock.now_us();
        let counted = self.counted(scope, now);
        let mut counted = counted.lock();
        if counted.unreported.since.is_some_and(|since| since.elapsed() > out_of_touch(scope)) {
            return None;
        }
        counted.state.advance(now, scope.phases(now));
        let verdict = counted.state.take(scope.cost, 0);
        if verdict.taken > 0 {
            counted.unreported.add(Unreported { calls: verdict.taken, since: Some(Instant::now()) });
            self.dirty.notify_one();
        }
        Some(verdict)
    }

    /// Takes back what was counted; shows what of it Redis knows already.
    pub(crate) fn refund(&self, scope: &Scope) -> u64 {
        let Some(counted) = self.scopes.get(&scope.key) else { return scope.cost };
        let mut counted = counted.lock();
        counted.state.refund(scope.cost, 0);
        let unreported = counted.unreported.calls.min(scope.cost);
        counted.unreported.calls -= unreported;
        scope.cost - unreported
    }

    /// Is notified when something was counted, and when this is dropped.
    pub(crate) fn dirty(&self) -> Arc<Notify> {
        self.dirty.clone()
    }

    /// The shortest time in which one of the scopes wants to be reported of; None: there is nothing to report.
    pub(crate) fn soonest(&self) -> Option<Duration> {
        self.unreported().iter().map(|counted| sync(&counted.lock().scope)).min()
    }

    /// Reports to Redis all that was counted, and learns what the others have.
    pub(crate) async fn report(&self, store: &Store, clock: &Clock) {
        for part in self.unreported().chunks(PER_CALL) {
            self.report_part(part, store, clock).await;
        }
    }

    async fn report_part(&self, part: &[Arc<Mutex<CountedScope>>], store: &Store, clock: &Clock) {
        let taken: Vec<(Plan, Unreported)> = part.iter().map(|counted| counted.lock().take_unreported()).collect();
        let (plans, unreported): (Vec<Plan>, Vec<Unreported>) = taken.into_iter().unzip();
        match redis_decide::count(store, clock, &plans).await {
            Ok(states) => {
                self.failing.store(false, Ordering::Relaxed);
                for (counted, state) in part.iter().zip(states) {
                    counted.lock().learn(&state);
                }
            }
            Err(error) => {
                // It may have been counted. Twice is better than not at all.
                for (counted, unreported) in part.iter().zip(unreported) {
                    counted.lock().unreported.add(unreported);
                }
                self.dirty.notify_one();
                if !self.failing.swap(true, Ordering::Relaxed) {
                    tracing::warn!(error = &error as &dyn Error, "could not send counts to Redis; retrying");
                }
            }
        }
    }

    fn unreported(&self) -> Vec<Arc<Mutex<CountedScope>>> {
        let scopes = self.scopes.iter().map(|(_, counted)| counted);
        scopes.filter(|counted| counted.lock().unreported.calls > 0).collect()
    }

    fn counted(&self, scope: &Scope, now: u64) -> Arc<Mutex<CountedScope>> {
        let fresh = || CountedScope {
            scope: scope.clone(),
            state: LocalScope::new(scope.phases(now)),
            unreported: Unreported::default(),
        };
        let counted = self.scopes.get_with_by_ref(scope.key.as_str(), || Arc::new(Mutex::new(fresh())));
        {
            let mut known = counted.lock();
            if known.scope.policy.fingerprint() != scope.policy.fingerprint() {
                // Redis converts what it was reported; what it wasn't is reported under the new tiers.
                *known = CountedScope { unreported: known.unreported, ..fresh() };
            }
        }
        counted
    }
}

impl Drop for AsyncCounter {
    fn drop(&mut self) {
        self.dirty.notify_one();
    }
}

impl CountedScope {
    fn take_unreported(&mut self) -> (Plan, Unreported) {
        let unreported = std::mem::take(&mut self.unreported);
        (Plan::of(vec![self.scope.costing(unreported.calls)]), unreported)
    }

    fn learn(&mut self, packed: &[u8]) {
        // Of other tiers: a replica that has another version of the policy has written it last. The next time, then.
        if self.state.read(packed, self.scope.policy.fingerprint()).is_some() && self.unreported.calls > 0 {
            self.state.charge(self.unreported.calls, 0);
        }
    }
}

impl Unreported {
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
