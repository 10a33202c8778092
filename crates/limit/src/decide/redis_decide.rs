//! Decides in Redis: one script call per decision, whatever the number of scopes and tiers.

use std::time::{Duration, Instant};

use dripfeed_store::{Script, Store, StoreError};
use tokio::time::timeout;

use crate::decide::clock::{Clock, micros};
use crate::decide::key_index::KeyIndex;
use crate::decide::plan::{Plan, Scope};
use crate::decide::report;
use crate::decide::verdict::ScopeVerdict;
use crate::lua::FRAGMENTS;

static DECIDE: Script = Script::new("decide", &[FRAGMENTS], include_str!("decide.lua"));
static COUNT: Script = Script::new("count", &[FRAGMENTS], include_str!("count.lua"));
static REFUND: Script = Script::new("refund", &[FRAGMENTS], include_str!("refund.lua"));

/// Maximum number of scopes in one call, because a long script delays all other calls.
pub(crate) const PER_CALL: usize = 500;

/// Why there is no decision.
#[derive(Debug)]
pub(crate) enum DecideError {
    /// Without an error if the reply took too long.
    Unavailable(Option<StoreError>),
    /// The reply can't be parsed.
    BadReply,
}

/// Which of the charges of a plan are refunded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refund {
    All,
    /// Only leases: the request was executed, and has ended.
    Leases,
}

/// The verdicts, and the Redis clock when they were made.
pub(crate) struct DecideReply {
    pub(crate) verdicts: Vec<ScopeVerdict>,
    pub(crate) now_us: u64,
}

/// Checks a plan, and charges it if all enforced policies allow it. Fails after `patience`; if Redis runs the script
/// later, it charges nothing.
pub(crate) async fn decide(
    store: &Store,
    clock: &Clock,
    plan: &Plan,
    patience: Duration,
) -> Result<DecideReply, DecideError> {
    let asking = decide_before(store, clock, plan, Instant::now() + patience);
    timeout(patience, asking).await.unwrap_or(Err(DecideError::Unavailable(None)))
}

/// As [`decide`], but waits for the reply also after the end, because the charge may have been made in time.
pub(crate) async fn decide_before(
    store: &Store,
    clock: &Clock,
    plan: &Plan,
    until: Instant,
) -> Result<DecideReply, DecideError> {
    loop {
        match decide_until(store, clock, plan, until).await? {
            Some(reply) => return Ok(reply),
            None if Instant::now() >= until => return Err(DecideError::Unavailable(None)),
            None => {}
        }
    }
}

/// Returns `None` if the script ran too late or early by the estimate of the Redis clock, which has been corrected now.
async fn decide_until(
    store: &Store,
    clock: &Clock,
    plan: &Plan,
    until: Instant,
) -> Result<Option<DecideReply>, DecideError> {
    let (mut keys, now) = (KeyIndex::default(), clock.now_us());
    let packed = plan.pack(&mut keys, now);
    let sent = Instant::now();
    let mut call = DECIDE.on(keys.keys());
    call.arg(&packed[..]).arg(now + micros(charged_within(until.saturating_duration_since(sent))));
    call.arg(now.saturating_sub(crate::local::MAX_CLOCK_ERROR));
    let numbers: Vec<i64> = store.run(&call).await.map_err(|error| DecideError::Unavailable(Some(error)))?;
    if let Some(now_us) = report::read_untimely(&numbers) {
        clock.learn(now_us, sent);
        return Ok(None);
    }
    let (now_us, verdicts) = report::read(plan.scopes(), &numbers).ok_or(DecideError::BadReply)?;
    clock.learn(now_us, sent);
    Ok(Some(DecideReply { verdicts, now_us }))
}

/// The part of the time in which the script may charge. The rest is left for the reply, and for the error of the
/// estimated Redis clock, so that the reply to each charge arrives in time.
fn charged_within(left: Duration) -> Duration {
    left * 4 / 5
}

/// Calls of one scope that a local counter counted.
pub(crate) struct Count {
    plan: Plan,
    /// `Some`: the calls are refunded, before this time in µs of the Redis clock (0: always). `None`: charged.
    taken_back: Option<u64>,
    /// When the last of the calls was allowed.
    passed: Instant,
}

impl Count {
    /// Charges `calls`.
    pub(crate) fn charge(scope: &Scope, calls: u64, passed: Instant) -> Self {
        Self { plan: Plan::of(vec![scope.costing(calls)]), taken_back: None, passed }
    }

    /// Refunds `calls`, before `ends_us` of the Redis clock.
    pub(crate) fn refund(scope: &Scope, calls: u64, ends_us: Option<u64>) -> Self {
        Self { taken_back: Some(ends_us.unwrap_or(0)), ..Self::charge(scope, calls, Instant::now()) }
    }

    /// Only reads the state.
    pub(crate) fn read(scope: &Scope) -> Self {
        Self::charge(scope, 0, Instant::now())
    }

    /// The script's argument: the time in µs before which the calls are refunded, or `-` and how many µs ago the last
    /// one was allowed.
    fn word(&self) -> String {
        let ago = || format!("-{}", micros(self.passed.elapsed()));
        self.taken_back.map_or_else(ago, |before| before.to_string())
    }
}

/// Charges or refunds calls that were counted locally. Returns the new state of each scope, empty if it has none.
pub(crate) async fn count(store: &Store, clock: &Clock, counts: &[Count]) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut keys = KeyIndex::default();
    let now = clock.now_us();
    let packed: Vec<Vec<u8>> = counts.iter().map(|count| count.plan.pack(&mut keys, now)).collect();
    let mut call = COUNT.on(keys.keys());
    for (plan, count) in packed.iter().zip(counts) {
        call.arg(&plan[..]).arg(count.word());
    }
    let sent = Instant::now();
    let (now_us, states): (u64, Vec<Vec<u8>>) = store.run(&call).await?;
    clock.learn(now_us, sent);
    Ok(states)
}

/// A refund in one scope. Times are µs of the Redis clock.
#[derive(Debug)]
pub(crate) struct Refunded {
    pub(crate) plan: Plan,
    /// Refund only before this time; 0: always.
    pub(crate) before_us: u64,
    /// When it was charged; 0: unknown.
    pub(crate) charged_us: u64,
}

/// Refunds plans of one scope each.
///
/// # Errors
/// When Redis can't be reached. The plans after that aren't refunded.
pub(crate) async fn refund(store: &Store, clock: &Clock, plans: &[Refunded], what: Refund) -> Result<(), StoreError> {
    for part in plans.chunks(PER_CALL) {
        refund_part(store, clock, part, what).await?;
    }
    Ok(())
}

async fn refund_part(store: &Store, clock: &Clock, plans: &[Refunded], what: Refund) -> Result<(), StoreError> {
    let mut keys = KeyIndex::default();
    let now = clock.now_us();
    let packed: Vec<Vec<u8>> = plans.iter().map(|refunded| refunded.plan.pack(&mut keys, now)).collect();
    let mut call = REFUND.on(keys.keys());
    call.arg(u8::from(what == Refund::Leases));
    for (plan, refunded) in packed.iter().zip(plans) {
        call.arg(&plan[..]).arg(refunded.before_us).arg(refunded.charged_us);
    }
    store.run::<u64>(&call).await.map(drop)
}
