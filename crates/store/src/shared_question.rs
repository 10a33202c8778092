//! Shares one Redis query between concurrent callers.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// It is asked no more often, however many ask.
const BETWEEN: Duration = Duration::from_millis(50);

/// Shares a query between concurrent callers, and makes it at most 20 times a second.
#[derive(Debug)]
pub struct SharedQuestion<E>(Mutex<LastAnswer<E>>);

#[derive(Debug)]
struct LastAnswer<E> {
    /// When the last query began; it may have been cancelled.
    begun: Instant,
    /// When the query began that this is the answer of.
    asked: Instant,
    answer: Result<(), E>,
}

impl<E> Default for SharedQuestion<E> {
    fn default() -> Self {
        let now = Instant::now();
        Self(Mutex::new(LastAnswer { begun: now, asked: now, answer: Ok(()) }))
    }
}

impl<E: Clone> SharedQuestion<E> {
    /// A caller that arrives while a query is running gets the result of the next one, which sees all earlier writes.
    ///
    /// # Errors
    /// Those of the question.
    pub async fn ask(&self, question: impl Future<Output = Result<(), E>>) -> Result<(), E> {
        let came = Instant::now();
        let mut last = self.0.lock().await;
        if last.asked < came {
            sleep_until(last.begun + BETWEEN).await;
            last.begun = Instant::now();
            let answer = question.await;
            (last.asked, last.answer) = (last.begun, answer);
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
        assert_eq!(BETWEEN * 20, Duration::from_secs(1));
    }
}
