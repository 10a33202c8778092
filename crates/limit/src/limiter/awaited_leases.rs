//! Decides on a request that takes leases. If the request is cancelled while Redis decides, the leases are returned;
//! otherwise others would be refused until they expire.

use std::sync::Arc;

use crate::decide::combined::PlacedDecision;
use crate::decide::plan::Plan;
use crate::decide::redis_decide::Refund;
use crate::error::LimitError;
use crate::limiter::decide::PendingDecision;
use crate::limiter::limiter_state::LimiterState;
use crate::policy::Policy;

/// A decision that returns its leases when it is dropped before the caller has it.
struct Awaited {
    state: Arc<LimiterState>,
    placed: Option<PlacedDecision>,
}

impl Drop for Awaited {
    fn drop(&mut self) {
        if let Some(PlacedDecision { decision, .. }) = self.placed.take()
            && decision.has_leases()
        {
            let state = Arc::clone(&self.state);
            tokio::spawn(async move {
                if let Err(error) = state.refund_decision(decision, Refund::Leases).await {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "could not return a lease; it expires after its maximum duration"
                    );
                }
            });
        }
    }
}

pub(super) async fn decide_with_leases(state: Arc<LimiterState>, plan: Plan) -> Result<PlacedDecision, LimitError> {
    let policy = plan.policies().next().map(Policy::id).cloned();
    // The task runs to its end even if the caller is cancelled, and then drops the decision.
    let deciding = tokio::spawn(async move {
        let placed = PendingDecision::new(&state, &plan).run(plan).await?;
        Ok(Awaited { state, placed: Some(placed) })
    });
    let placed = match deciding.await {
        Ok(awaited) => awaited?.placed.take(),
        // The runtime is shutting down.
        Err(_) => None,
    };
    placed.ok_or_else(|| match policy {
        Some(policy) => LimitError::Unavailable { policy, source: None },
        None => LimitError::Reply,
    })
}
