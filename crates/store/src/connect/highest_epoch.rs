//! Sends the same query to several servers, and uses the reply with the highest epoch.
//!
//! The queries are concurrent, so that an unreachable server costs no time. A server that was partitioned from the
//! others may reply first, with outdated data, so the others get a short time to reply, too.

use std::time::Duration;

use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::time::{Instant, timeout_at};

/// How long to wait for further replies after the first one.
const GRACE: Duration = Duration::from_millis(100);

/// Data of an epoch. Those of a later epoch replace them.
pub(crate) trait HasEpoch {
    fn epoch(&self) -> u64;
}

/// Returns the reply with the highest epoch. If all queries fail, returns the last error. Returns `None` without
/// queries.
pub(crate) async fn highest_epoch<T: HasEpoch, E>(queries: Vec<BoxFuture<'_, Result<T, E>>>) -> Option<Result<T, E>> {
    let mut replies: FuturesUnordered<_> = queries.into_iter().collect();
    let mut latest = replies.next().await?;
    while latest.is_err() {
        match replies.next().await {
            Some(reply) => latest = reply,
            None => return Some(latest),
        }
    }
    let deadline = Instant::now() + GRACE;
    while let Ok(Some(reply)) = timeout_at(deadline, replies.next()).await {
        let epoch = |reply: &Result<T, E>| reply.as_ref().ok().map(HasEpoch::epoch);
        if epoch(&reply) > epoch(&latest) {
            latest = reply;
        }
    }
    Some(latest)
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
