//! Local counters that are reported to Redis every `sync`. A counter that this replica doesn't know is read from Redis
//! first.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dripfeed_store::Store;
use moka::sync::Cache;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::decide::clock::Clock;
use crate::decide::plan::Scope;
use crate::decide::redis_decide::{self, Count, PER_CALL};
use crate::decide::verdict::{Remaining, ScopeVerdict};
use crate::replica::counted_scope::{CountedScope, Unreported, out_of_touch, signed, sync};
use crate::replica::evicted::Evicted;
use crate::replica::next_report::NextReport;

#[derive(Debug)]
pub(crate) struct AsyncCounter {
    scopes: Cache<String, Arc<Mutex<CountedScope>>>,
    evicted: Evicted,
    next_report: NextReport,
    /// Whether the last report to Redis failed.
    failing: AtomicBool,
}

impl AsyncCounter {
    /// Maximum number of counters in memory.
    pub(crate) const MOST: u64 = 100_000;

    /// With up to `most` counters in memory.
    pub(crate) fn new(most: u64) -> Self {
        let (evicted, next_report) = (Evicted::default(), NextReport::default());
        let kept = evicted.clone();
        let scopes = Cache::builder().max_capacity(most).time_to_idle(Duration::from_hours(1));
        // The listener locks the counter, so the cache must never be used while one is locked.
        let scopes = scopes.eviction_listener(move |_, counted, _| kept.keep(counted)).build();
        Self { scopes, evicted, next_report, failing: AtomicBool::new(false) }
    }

    /// Reads from Redis the counters of `scopes` that aren't in memory, or have other tiers, so that calls that were
    /// counted by other replicas, or under an earlier limit, aren't allowed again. If Redis doesn't answer within
    /// `patience`, these counters start at zero until the next report.
    pub(crate) async fn look_up(&self, scopes: &[&Scope], store: &Store, clock: &Clock, patience: Duration) {
        let unknown: Vec<&Scope> = scopes.iter().copied().filter(|scope| !self.knows(scope)).collect();
        if unknown.is_empty() {
            return;
        }
        let nothing: Vec<Count> = unknown.iter().map(|scope| Count::read(scope)).collect();
        let states = timeout(patience, redis_decide::count(store, clock, &nothing)).await;
        let states = states.ok().and_then(Result::ok).unwrap_or_default();
        for (at, scope) in unknown.into_iter().enumerate() {
            self.insert(scope, states.get(at).map_or(&[], Vec::as_slice), clock.now_us());
        }
    }

    fn knows(&self, scope: &Scope) -> bool {
        self.scopes.get(&scope.key).is_some_and(|counted| counted.lock().is_of(scope))
    }

    /// Adds a counter with a state from Redis.
    fn insert(&self, scope: &Scope, packed: &[u8], now: u64) {
        let begin = || Arc::new(Mutex::new(CountedScope::new(scope, now)));
        let entry = self.scopes.entry_by_ref(scope.key.as_str()).or_insert_with(begin);
        let mut counted = entry.value().lock();
        // Unless another request has added it meanwhile, and counted calls.
        if entry.is_fresh() || !counted.is_of(scope) {
            counted.begin(scope, packed, now);
        }
    }

    /// Decides by the local counter, and counts the call if it is allowed. Returns `None` if Redis has been unavailable
    /// for too long.
    pub(crate) fn take(&self, scope: &Scope, clock: &Clock) -> Option<ScopeVerdict> {
        let now = clock.now_us();
        let known = self.counted(scope, now);
        let mut counted = known.lock();
        if let Some(since) = counted.unreported.since {
            self.next_report.within(sync(scope));
            if since.elapsed() > out_of_touch(scope) {
                return None;
            }
        }
        counted.state.advance(now, scope.phases(now));
        let verdict = counted.state.take(scope.cost, 0);
        if verdict.taken > 0 {
            counted.unreported.add(signed(verdict.taken), None);
            drop(counted);
            self.report_later(&known, scope);
        }
        Some(verdict)
    }

    /// Refunds a call: in the local counter at once, and in Redis with the next report if it was reported already.
    /// Returns what is left then.
    pub(crate) fn refund(&self, scope: &Scope, clock: &Clock) -> Vec<Remaining> {
        let known = self.counted(scope, clock.now_us());
        let left = known.lock().refund(scope.cost);
        self.report_later(&known, scope);
        left
    }

    /// Schedules the report of a counter that has changed. It must not be locked, and may have been evicted.
    fn report_later(&self, counted: &Arc<Mutex<CountedScope>>, scope: &Scope) {
        if self.scopes.get(&scope.key).is_none_or(|known| !Arc::ptr_eq(&known, counted)) {
            self.evicted.keep(Arc::clone(counted));
        }
        let at_once = self.evicted.are_many() && !self.failing.load(Ordering::Relaxed);
        self.next_report.within(if at_once { Duration::ZERO } else { sync(scope) });
    }

    /// Is notified when [`AsyncCounter::due`] becomes earlier, and when this is dropped.
    pub(crate) fn earlier(&self) -> Arc<Notify> {
        self.next_report.earlier()
    }

    /// When the next report is due. `None` if there is nothing to report.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.next_report.due()
    }

    /// Reports all counts to Redis, and reads those of the other replicas.
    pub(crate) async fn report(&self, store: &Store, clock: &Clock) {
        self.next_report.begin();
        for part in self.unreported().chunks(PER_CALL) {
            self.report_part(part, store, clock).await;
        }
    }

    async fn report_part(&self, part: &[Arc<Mutex<CountedScope>>], store: &Store, clock: &Clock) {
        let taken: Vec<(Count, Unreported)> = part.iter().map(|counted| counted.lock().take_unreported()).collect();
        let (counts, unreported): (Vec<Count>, Vec<Unreported>) = taken.into_iter().unzip();
        match redis_decide::count(store, clock, &counts).await {
            Ok(states) => {
                self.failing.store(false, Ordering::Relaxed);
                for (counted, state) in part.iter().zip(states) {
                    counted.lock().learn(&state, clock.now_us());
                }
            }
            Err(error) => {
                let failed_before = self.failing.swap(true, Ordering::Relaxed);
                for (counted, unreported) in part.iter().zip(unreported) {
                    let scope = counted.lock().put_back(unreported);
                    self.report_later(counted, &scope);
                }
                if !failed_before {
                    tracing::warn!(error = &error as &dyn Error, "could not send counts to Redis; retrying");
                }
            }
        }
    }

    fn unreported(&self) -> Vec<Arc<Mutex<CountedScope>>> {
        let known = self.scopes.iter().map(|(_, counted)| counted);
        self.evicted.take().into_iter().chain(known).filter(|counted| counted.lock().unreported.calls != 0).collect()
    }

    fn counted(&self, scope: &Scope, now: u64) -> Arc<Mutex<CountedScope>> {
        let begin = || Arc::new(Mutex::new(CountedScope::new(scope, now)));
        let counted = self.scopes.get_with_by_ref(scope.key.as_str(), begin);
        {
            let mut known = counted.lock();
            // Another request began before the policies were replaced.
            if !known.is_of(scope) {
                known.begin(scope, &[], now);
            }
            // The policy's `sync` may have changed.
            if !Arc::ptr_eq(&known.scope.policy, &scope.policy) {
                known.scope = scope.clone();
            }
        }
        counted
    }
}
