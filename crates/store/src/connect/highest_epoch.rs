//! Asks several servers the same question, and uses the answer with the highest epoch.
//!
//! All are asked at once, so that an unreachable one costs no time. One that was partitioned from the others may answer
//! first, with outdated information; so the others get a moment to answer.

use std::time::Duration;

use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::{Instant, timeout_at};

/// How long the others have after the first answer.
const GRACE: Duration = Duration::from_millis(100);

/// Something that was agreed upon in some epoch; a later one replaces it.
pub(crate) trait HasEpoch {
    fn epoch(&self) -> u64;
}

/// The answer of the latest epoch; when none comes, why the last of them failed. `None`: there was nobody to ask.
pub(crate) async fn highest_epoch<T: HasEpoch, E>(questions: Vec<BoxFuture<'_, Result<T, E>>>) -> Option<Result<T, E>> {
    let mut answers: FuturesUnordered<_> = questions.into_iter().collect();
    let mut newest = answers.next().await?;
    while newest.is_err() {
        match answers.next().await {
            Some(answer) => newest = answer,
            None => return Some(newest),
        }
    }
    let until = Instant::now() + GRACE;
    while let Ok(Some(answer)) = timeout_at(until, answers.next()).await {
        let epoch = |answer: &Result<T, E>| answer.as_ref().ok().map(HasEpoch::epoch);
        if epoch(&answer) > epoch(&newest) {
            newest = answer;
        }
    }
    Some(newest)
}

#[cfg(test)]
mod tests {
    use futures::future::{FutureExt, pending, ready};

    use super::*;

    impl HasEpoch for u64 {
        fn epoch(&self) -> u64 {
            *self
        }
    }

    #[tokio::test]
    async fn the_latest_epoch_wins_and_who_is_silent_is_not_waited_for() {
        let slow = tokio::task::yield_now().map(|()| Ok(7)).boxed();
        let questions: Vec<BoxFuture<'_, Result<u64, &str>>> =
            vec![ready(Err("refused")).boxed(), ready(Ok(6)).boxed(), slow, pending().boxed()];
        assert_eq!(highest_epoch(questions).await, Some(Ok(7)));
    }

    #[tokio::test]
    async fn when_all_fail_it_is_told_why() {
        assert_eq!(highest_epoch::<u64, _>(vec![ready(Err("refused")).boxed()]).await, Some(Err("refused")));
    }
}
