//! Shares one Redis query between concurrent callers.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// The minimum time between two queries.
const MIN_INTERVAL: Duration = Duration::from_millis(50);

/// Shares a query between concurrent callers, and makes it at most 20 times a second.
#[derive(Debug)]
pub struct SharedQuestion<E>(Mutex<LastAnswer<E>>);

#[derive(Debug)]
struct LastAnswer<E> {
    /// When the last query began, which may have been cancelled.
    begun: Instant,
    /// When the query of `answer` began.
    answered: Instant,
    answer: Result<(), E>,
}

impl<E> Default for SharedQuestion<E> {
    fn default() -> Self {
        let now = Instant::now();
        Self(Mutex::new(LastAnswer { begun: now, answered: now, answer: Ok(()) }))
    }
}

impl<E: Clone> SharedQuestion<E> {
    /// A caller that arrives while a query is running gets the result of the next one, which sees all earlier writes.
    ///
    /// # Errors
    /// The error of the query.
    pub async fn ask(&self, question: impl Future<Output = Result<(), E>>) -> Result<(), E> {
        let arrived = Instant::now();
        let mut last = self.0.lock().await;
        if last.answered < arrived {
            sleep_until(last.begun + MIN_INTERVAL).await;
            last.begun = Instant::now();
            let answer = question.await;
            (last.answered, last.answer) = (last.begun, answer);
        }
        last.answer.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn the_query_of_a_caller_that_left_answers_nobody() {
        let shared = SharedQuestion::default();
        let (begin, begun) = oneshot::channel();
        let mut left = Box::pin(shared.ask(async {
            let _ = begin.send(());
            pending().await
        }));
        let mut waiting = Box::pin(shared.ask(async { Err("asked") }));
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
    fn it_is_asked_at_most_20_times_a_second() {
        assert_eq!(MIN_INTERVAL * 20, Duration::from_secs(1));
    }
}
