//! Parses input: small input on the calling thread, large input on separate threads with bounded parallelism and a low
//! priority, so that it doesn't delay other requests.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, LazyLock};
use std::thread::{self, available_parallelism};

use tokio::sync::{Semaphore, oneshot};

use crate::error::BucketError;

/// Parsing this much takes about a millisecond.
const AT_ONCE_BYTES: usize = 64 * 1024;

/// Beside a busy thread of normal priority, a parsing thread gets about a tenth of a core.
const NICE: i32 = 10;

/// At most half of the cores; the others serve requests.
static PARSERS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let processors = available_parallelism().map_or(1, NonZero::get);
    Arc::new(Semaphore::new((processors / 2).max(1)))
});

/// Runs `work`, which parses this many bytes.
///
/// # Errors
/// When the process is about to end, or can't start a thread.
///
/// # Panics
/// When `work` does.
pub async fn parse<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BucketError> {
    if bytes <= AT_ONCE_BYTES {
        return Ok(work());
    }
    let permit = Arc::clone(&PARSERS).acquire_owned().await.map_err(|_| BucketError::Closing)?;
    let (to, parsed) = oneshot::channel();
    // A new thread, because a lowered priority can't be raised again.
    let spawned = thread::Builder::new().name("parser".to_owned()).spawn(move || {
        // If this fails, the thread has normal priority.
        let _ = rustix::process::nice(NICE);
        let _ = to.send(catch_unwind(AssertUnwindSafe(work)));
        // Dropped after the work, even if its caller has given up.
        drop(permit);
    });
    spawned.map_err(|_| BucketError::Closing)?;
    match parsed.await.map_err(|_| BucketError::Closing)? {
        Ok(parsed) => Ok(parsed),
        Err(panic) => resume_unwind(panic),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;

    use super::*;

    #[tokio::test]
    async fn only_what_is_large_goes_to_another_thread() {
        let here = thread::current().id();
        assert_eq!(parse(AT_ONCE_BYTES, || thread::current().id()).await.unwrap(), here);
        assert_ne!(parse(AT_ONCE_BYTES + 1, || thread::current().id()).await.unwrap(), here);
    }

    #[tokio::test]
    async fn those_that_answer_come_before_what_is_parsed() {
        let priority = || rustix::process::nice(0).unwrap();
        let here = priority();
        assert_eq!(parse(AT_ONCE_BYTES + 1, priority).await.unwrap(), (here + NICE).min(19));
        assert_eq!(priority(), here);
    }

    #[tokio::test]
    #[should_panic(expected = "it can't be parsed")]
    async fn a_panic_while_parsing_is_the_callers() {
        parse(AT_ONCE_BYTES + 1, || panic!("it can't be parsed")).await.unwrap();
    }

    #[tokio::test]
    async fn so_many_large_ones_are_parsed_at_once_and_no_more() {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let parsed = (0..50).map(|_| {
            let (now, most) = (Arc::clone(&now), Arc::clone(&most));
            parse(AT_ONCE_BYTES + 1, move || {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                thread::yield_now();
                now.fetch_sub(1, Ordering::SeqCst);
            })
        });
        assert!(join_all(parsed).await.into_iter().all(|parsed| parsed.is_ok()));
        let processors = available_parallelism().map_or(1, NonZero::get);
        assert!((1..=(processors / 2).max(1)).contains(&most.load(Ordering::SeqCst)));
    }
}
