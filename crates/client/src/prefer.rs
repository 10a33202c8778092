//! `Prefer: wait=10`: the intake waits before it answers.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

/// What an intake waits at most.
const LONGEST: Duration = Duration::from_secs(60);

/// The header, in whole seconds, and how much longer than otherwise a try may take: else none that waits would get its
/// answer. Nothing for no wait.
pub(crate) fn prefer_wait(wait: Duration) -> (HeaderMap, Duration) {
    let wait = wait.min(LONGEST);
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let header = (seconds > 0).then(|| HeaderValue::try_from(format!("wait={seconds}")).ok()).flatten();
    (header.map(|wait| (HeaderName::from_static("prefer"), wait)).into_iter().collect(), wait)
}
