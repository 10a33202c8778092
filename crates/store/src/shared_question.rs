//! Shares one Redis query between concurrent callers.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// It is asked no more often, however many ask.
const BETWEEN: Duration = Duration::from_millis(50);

/// A question about what isn't known here: at most 20 times a second.
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
    /// A caller that comes while others wait for an answer is given the next one, which sees what was there before it
    /// came.
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
