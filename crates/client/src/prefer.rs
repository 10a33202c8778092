//! The header `Prefer: wait=10`, which asks the intake to answer only when the job has ended.

use std::time::Duration;

use http::{HeaderName, HeaderValue};

/// The maximum wait of an intake.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Returns the header, in whole seconds, rounded up. Returns `None` for no wait.
pub(crate) fn prefer_wait(wait: Duration) -> Option<(HeaderName, HeaderValue)> {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let header = (seconds > 0).then(|| HeaderValue::try_from(format!("wait={seconds}")).ok())?;
    header.map(|wait| (HeaderName::from_static("prefer"), wait))
}
