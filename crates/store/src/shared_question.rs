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
    asked: Instant,
    answer: Result<(), E>,
}

impl<E> Default for SharedQuestion<E> {
    fn default() -> Self {
        Self(Mutex::new(LastAnswer { asked: Instant::now(), answer: Ok(()) }))
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
            sleep_until(last.asked + BETWEEN).await;
            last.asked = Instant::now();
            last.answer = question.await;
        }
        last.answer.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_asked_at_most_20_times_a_second() {
        assert_eq!(BETWEEN * 20, Duration::from_secs(1));
    }
}
