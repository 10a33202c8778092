//! Restarts background tasks that panic, which is a bug. Nobody awaits them, and without them the process would be
//! ready, but not do its work.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;

/// The pause before a restart, so that a task that panics at once isn't a hot loop.
const RESTART_DELAY: Duration = Duration::from_secs(1);

/// Runs `work` to its end, and restarts it after each panic.
pub async fn restart_on_panic<T, F: Future<Output = T>>(name: impl fmt::Display, mut work: impl FnMut() -> F) -> T {
    loop {
        match AssertUnwindSafe(work()).catch_unwind().await {
            Ok(result) => return result,
            Err(_) => {
                tracing::error!(task = %name, "a task panicked and restarts; this is a bug, please report it");
                tokio::time::sleep(RESTART_DELAY).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_begins_again_and_one_that_ends_does_not() {
        let begun = AtomicU32::new(0);
        let ended = restart_on_panic("of a test", || async {
            assert_ne!(begun.fetch_add(1, Ordering::Relaxed), 0, "a bug");
            "ended"
        });
        assert_eq!(ended.await, "ended");
        assert_eq!(begun.into_inner(), 2);
    }
}
