//! Callers that request calls, and make those that are allowed.

use std::future::Future;
use std::time::{Duration, Instant};

use dripfeed_limit::{LimitError, Limiter, Request};

use crate::call_log::{CallLog, PassedCalls};
use crate::error::LabError;

/// The pause between two requests of a caller. The published loops start a program for each.
pub(crate) const PAUSE: Duration = Duration::from_millis(2);

/// Requests calls until `calls` of them were allowed. Returns the allowed ones.
pub(crate) async fn until_passed<A>(calls: usize, mut ask: impl FnMut(usize) -> A) -> Result<PassedCalls, LabError>
where
    A: Future<Output = Result<bool, LabError>>,
{
    let log = CallLog::default();
    while log.count() < calls {
        let asked = Instant::now();
        if ask(log.count()).await? {
            log.passed(asked);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(log.read())
}

/// Requests a call every `pause` for the time `load`. Returns the allowed ones.
pub(crate) async fn for_as_long_as<A>(
    load: Duration,
    pause: Duration,
    mut ask: impl FnMut() -> A,
) -> Result<PassedCalls, LabError>
where
    A: Future<Output = Result<bool, LabError>>,
{
    let log = CallLog::default();
    let begun = Instant::now();
    while begun.elapsed() < load {
        let asked = Instant::now();
        if ask().await? {
            log.passed(asked);
        }
        tokio::time::sleep(pause).await;
    }
    Ok(log.read())
}

/// Returns whether a call is allowed. Without an answer of Redis in time it isn't.
pub(crate) async fn passes(limiter: &Limiter, request: &Request<'_>) -> Result<bool, LabError> {
    match limiter.decide(request).await {
        Ok(decision) => Ok(decision.allowed),
        Err(LimitError::Unavailable { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns a request of one caller.
pub(crate) fn call(caller: &str) -> Request<'_> {
    Request { caller: Some(caller), ..Request::new("GET", "/tigerfeeding") }
}
