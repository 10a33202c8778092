//! Lets Redis decide, and leases quota in advance. The quota is kept even if the request is cancelled meanwhile;
//! otherwise it would be missing until the end of its window.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;

use crate::decide::plan::Plan;
use crate::decide::redis_decide::{self, DecideError, DecideReply};
use crate::limiter::limiter_state::LimiterState;
use crate::replica::lease_account::LeaseAccount;

/// The locked account of a scope, for which other requests wait.
pub(super) type Account = OwnedMutexGuard<LeaseAccount>;

/// The locked accounts of the plan's scopes, while the request waits for the reply.
#[derive(Clone)]
struct Awaited(Arc<Mutex<Vec<Option<Account>>>>);

/// Unlocks the accounts when the request ends.
struct ReleaseAtEnd(Awaited);

impl Drop for ReleaseAtEnd {
    fn drop(&mut self) {
        self.0.0.lock().clear();
    }
}

/// As [`redis_decide::decide`], for a plan with lease accounts.
pub(super) async fn decide_taking_ahead(
    state: &Arc<LimiterState>,
    plan: Plan,
    accounts: Vec<Option<Account>>,
    patience: Duration,
) -> Result<DecideReply, DecideError> {
    let takes_ahead = accounts.iter().map(Option::is_some).collect();
    let awaited = Awaited(Arc::new(Mutex::new(accounts)));
    let released = ReleaseAtEnd(awaited.clone());
    let deciding = tokio::spawn(decide_and_keep(Arc::clone(state), plan, takes_ahead, awaited, patience));
    let answer = timeout(patience, deciding).await;
    drop(released);
    answer.ok().and_then(Result::ok).unwrap_or(Err(DecideError::Unavailable(None)))
}

async fn decide_and_keep(
    state: Arc<LimiterState>,
    plan: Plan,
    takes_ahead: Vec<bool>,
    Awaited(accounts): Awaited,
    patience: Duration,
) -> Result<DecideReply, DecideError> {
    let sent = Instant::now();
    let reply = redis_decide::decide_before(&state.store, &state.clock, &plan, sent + patience).await?;
    let mut accounts = std::mem::take(&mut *accounts.lock()).into_iter();
    for ((scope, verdict), _) in
        plan.scopes().iter().zip(&reply.verdicts).zip(takes_ahead).filter(|(_, takes_ahead)| *takes_ahead)
    {
        let mut account = match accounts.find_map(|account| account) {
            Some(account) => account,
            None => state.leases.account(scope).await,
        };
        account.stock_up(scope, verdict, sent, reply.now_us);
    }
    Ok(reply)
}
