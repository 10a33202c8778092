//! Warns about a certificate of the intake that expires. Clients refuse it, and the intake sees only failed handshakes.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

/// How long before its end to warn.
const WARNING_PERIOD: Duration = Duration::from_hours(14 * 24);

pub(in crate::settings) fn warning(expires: SystemTime, now: SystemTime) -> Option<String> {
    let left = expires.duration_since(now).unwrap_or_default();
    if left > WARNING_PERIOD {
        return None;
    }
    let at = Timestamp::try_from(expires).map_or_else(|_| String::new(), |at| format!(" at {at}"));
    let verb = if left.is_zero() { "has expired" } else { "expires" };
    Some(format!("the certificate in intake.tls_cert {verb}{at}: renew it and reload, or clients will refuse it"))
}
