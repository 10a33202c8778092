//! Shares one Redis query between concurrent callers.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// The minimum time between two queries.
const MIN_INTERVAL: Duration = Duration::from_millis(50);

/// Shares a query between concurrent callers, and makes it at most 20 times a second.
#[derive(Debug)]
pub struct CoalescedQuery<E>(Mutex<LastResult<E>>);

#[derive(Debug)]
struct LastResult<E> {
    /// When the last query began, which may have been cancelled.
    begun: Instant,
    /// When the query of `result` began.
    result_begun: Instant,
    result: Result<(), E>,
}

impl<E> Default for CoalescedQuery<E> {
    fn default() -> Self {
        let now = Instant::now();
        Self(Mutex::new(LastResult { begun: now, result_begun: now, result: Ok(()) }))
    }
}

impl<E: Clone> CoalescedQuery<E> {
    /// Runs `query`, and returns its result. A caller that arrives while a query is running gets the
    /// result of the next one, which sees all earlier writes.
    ///
    /// # Errors
    /// The error of the query.
    pub async fn run(&self, query: impl Future<Output = Result<(), E>>) -> Result<(), E> {
        let arrived = Instant::now();
        let mut last = self.0.lock().await;
        if last.result_begun < arrived {
            sleep_until(last.begun + MIN_INTERVAL).await;
            last.begun = Instant::now();
            let result = query.await;
            (last.result_begun, last.result) = (last.begun, result);
        }
        last.result.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn the_query_of_a_caller_that_left_answers_nobody() {
        let shared = CoalescedQuery::default();
        let (begin, begun) = oneshot::channel();
        let mut left = Box::pin(shared.run(async {
            let _ = begin.send(());
            pending().await
        }));
        let mut waiting = Box::pin(shared.run(async { Err("asked") }));
        tokio::select! {
            biased;
            _ = &mut left => unreachable!("its query never ends"),
            _ = &mut waiting => unreachable!("one query at a time"),
            _ = begun => {}
        }
        drop(left);
        assert_eq!(waiting.await, Err("asked"));
    }

    #[test]
    fn a_query_is_made_at_most_20_times_a_second() {
        assert_eq!(MIN_INTERVAL * 20, Duration::from_secs(1));
    }
}
