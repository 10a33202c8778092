//! The certificate of the intake: clients refuse one that has expired, and the intake sees only broken handshakes.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

/// Time enough to renew it.
const SOON: Duration = Duration::from_hours(14 * 24);

pub(in crate::settings) fn warning(expires: SystemTime, now: SystemTime) -> Option<String> {
    let left = expires.duration_since(now).unwrap_or_default();
    if left > SOON {
        return None;
    }
    let at = Timestamp::try_from(expires).map_or_else(|_| String::new(), |at| format!(" at {at}"));
    let verb = if left.is_zero() { "has expired" } else { "expires" };
    Some(format!("the certificate in intake.tls_cert {verb}{at}: renew it and reload, or clients will refuse it"))
}
