//! Parses the `Retry-After` header of an answer (RFC 9110, 10.2.3): seconds, or a date.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};
use jiff::fmt::rfc2822;

/// Returns how long an answer with these headers asks to wait, as [`parse`] returns it. A date is compared with the
/// `Date` header if the server sends it, otherwise with `now`.
#[must_use]
pub fn of_headers(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok();
    parse(text(RETRY_AFTER)?, text(DATE).and_then(date).unwrap_or(now))
}

/// How long to wait: zero if the date has passed, `None` if the value can't be parsed. The caller limits it. Some
/// servers send seconds with a fraction, which HTTP doesn't have.
#[must_use]
pub fn parse(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    if are_digits(value) {
        // Too many digits for a u64: as long as possible.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    if value.split_once('.').is_some_and(|(whole, fraction)| are_digits(whole) && are_digits(fraction)) {
        return Some(Duration::try_from_secs_f64(value.parse().ok()?).unwrap_or(Duration::MAX));
    }
    Some(date(value)?.duration_since(now).unwrap_or(Duration::ZERO))
}

/// Parses a date in one of the three formats of HTTP (RFC 9110, 5.6.7), or in that of mail (RFC 2822).
#[must_use]
pub fn date(value: &str) -> Option<SystemTime> {
    let as_mail = || Some(rfc2822::parse(value).ok()?.timestamp().into());
    httpdate::parse_http_date(value).ok().or_else(as_mail)
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn seconds_and_dates_are_read() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_767);
        assert_eq!(parse("120", now), Some(Duration::from_secs(120)));
        assert_eq!(parse("0", now), Some(Duration::ZERO));
        assert_eq!(parse("90.0", now), Some(Duration::from_secs(90)));
        assert_eq!(parse("0.25", now), Some(Duration::from_millis(250)));
        assert_eq!(parse(&format!("{}.5", "9".repeat(400)), now), Some(Duration::MAX));
        assert_eq!(parse("Sun, 06 Nov 1994 08:49:37 GMT", now), Some(Duration::from_secs(10)));
        assert_eq!(parse("Sun, 06 Nov 1994 08:49:17 GMT", now), Some(Duration::ZERO));
        assert_eq!(parse("Sunday, 06-Nov-94 08:49:37 GMT", now), Some(Duration::from_secs(10)));
        assert_eq!(parse("Sun Nov  6 08:49:37 1994", now), Some(Duration::from_secs(10)));
        assert_eq!(parse("Sun, 06 Nov 1994 10:49:37 +0200", now), Some(Duration::from_secs(10)));
        assert!(parse("Fri, 31 Dec 9999 23:59:59 GMT", now) > Some(Duration::from_hours(24 * 365 * 8000)));
        assert_eq!(parse("99999999999999999999999", now), Some(Duration::from_secs(u64::MAX)));
    }

    #[test]
    fn a_date_is_taken_by_the_clock_of_its_server() {
        let wait = |headers: &[(_, &'static str)]| {
            let headers = headers.iter().map(|(name, text)| (HeaderName::clone(name), HeaderValue::from_static(text)));
            of_headers(&headers.collect(), SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_767))
        };
        let asked = (RETRY_AFTER, "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(wait(std::slice::from_ref(&asked)), Some(Duration::from_secs(10)));
        assert_eq!(wait(&[asked, (DATE, "Sun, 06 Nov 1994 08:49:07 GMT")]), Some(Duration::from_secs(30)));
        assert_eq!(wait(&[(DATE, "Sun, 06 Nov 1994 08:49:07 GMT")]), None);
    }

    #[test]
    fn nonsense_says_nothing() {
        for value in ["", "-1", ".5", "1.", "1.5.0", "soon", "1e9", "1.5e9", "-1.5"] {
            assert_eq!(parse(value, SystemTime::UNIX_EPOCH), None, "{value:?}");
        }
    }
}
