//! Callers that ask, and go on when they may.

use std::future::Future;
use std::time::{Duration, Instant};

use dripfeed_limit::{LimitError, Limiter, Request};

use crate::error::LabError;
use crate::passes::{Book, Passes};

/// Between a caller's questions. The published loops start a program for each.
pub(crate) const PAUSE: Duration = Duration::from_millis(2);

/// Asks again and again until `calls` have passed.
pub(crate) async fn until_passed<A>(calls: usize, mut ask: impl FnMut(usize) -> A) -> Result<Passes, LabError>
where
    A: Future<Output = Result<bool, LabError>>,
{
    let book = Book::default();
    while book.count() < calls {
        let asked = Instant::now();
        if ask(book.count()).await? {
            book.passed(asked);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(book.read())
}

/// Asks every `pause` for as long as `load`.
pub(crate) async fn for_as_long_as<A>(
    load: Duration,
    pause: Duration,
    mut ask: impl FnMut() -> A,
) -> Result<Passes, LabError>
where
    A: Future<Output = Result<bool, LabError>>,
{
    let book = Book::default();
    let begun = Instant::now();
    while begun.elapsed() < load {
        let asked = Instant::now();
        if ask().await? {
            book.passed(asked);
        }
        tokio::time::sleep(pause).await;
    }
    Ok(book.read())
}

/// Whether a call may pass. One that Redis did not answer in time may not.
pub(crate) async fn passes(limiter: &Limiter, request: &Request<'_>) -> Result<bool, LabError> {
    match limiter.decide(request).await {
        Ok(decision) => Ok(decision.allowed),
        Err(LimitError::Unavailable { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A call of one caller.
pub(crate) fn call(caller: &str) -> Request<'_> {
    Request { caller: Some(caller), ..Request::new("GET", "/tigerfeeding") }
}
