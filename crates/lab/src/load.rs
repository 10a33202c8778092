//! Callers that ask, and go on when they may.

use std::future::Future;
use std::time::{Duration, Instant};

use dripfeed_limit::{LimitError, Limiter, Request};

use crate::call_log::{CallLog, PassedCalls};
use crate::error::LabError;

/// Between a caller's questions. The published loops start a program for each.
pub(crate) const PAUSE: Duration = Duration::from_millis(2);

/// Repeats a call until `calls` have passed.
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

/// Asks every `pause` for as long as `load`.
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

/// Returns whether a call may pass. One that Redis did not answer in time may not.
pub(crate) async fn passes(limiter: &Limiter, request: &Request<'_>) -> Result<bool, LabError> {
    match limiter.decide(request).await {
        Ok(decision) => Ok(decision.allowed),
        Err(LimitError::Unavailable { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns a call of one caller.
pub(crate) fn call(caller: &str) -> Request<'_> {
    Request { caller: Some(caller), ..Request::new("GET", "/tigerfeeding") }
}
