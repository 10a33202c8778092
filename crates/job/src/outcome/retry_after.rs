//! Parses the `Retry-After` header of upstreams (RFC 9110, 10.2.3): seconds, or a date.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;

/// How long to wait. None: the value can't be parsed; zero: the date has passed. The caller limits it.
#[must_use]
pub fn parse(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|c| c.is_ascii_digit()) {
        // More digits than a u64 holds are still "very long".
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let at = rfc2822::parse(value).ok()?.timestamp();
    Some(Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read() {
        let now: Timestamp = "1994-11-06T08:49:27Z".parse().unwrap_or(Timestamp::UNIX_EPOCH);
        assert_eq!(parse("120", now), Some(Duration::from_secs(120)));
        assert_eq!(parse("0", now), Some(Duration::ZERO));
        assert_eq!(parse("Sun, 06 Nov 1994 08:49:37 GMT", now), Some(Duration::from_secs(10)));
        assert_eq!(parse("Sun, 06 Nov 1994 08:49:17 GMT", now), Some(Duration::ZERO));
        assert_eq!(parse("99999999999999999999999", now), Some(Duration::from_secs(u64::MAX)));
    }

    #[test]
    fn nonsense_says_nothing() {
        for value in ["", "-1", "1.5", "soon", "1e9"] {
            assert_eq!(parse(value, Timestamp::UNIX_EPOCH), None, "{value:?}");
        }
    }
}
