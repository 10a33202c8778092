//! `Prefer: wait=10` (RFC 7240): the caller would rather wait for the upstream's answer than be told 202 at once.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

const PREFER: HeaderName = HeaderName::from_static("prefer");
pub(crate) const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// However much longer a caller would wait.
const LONGEST_S: u64 = 60;

/// How long to wait for the outcome; whole seconds, 1 to 60.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait(u64);

impl Wait {
    /// Other preferences are for others, and one that can't be read is none (RFC 7240, 2): neither is an error. Of
    /// several the first counts.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let seconds = headers
            .get_all(PREFER)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| outside_quotes(value, b','))
            .find_map(|preference| {
                // Parameters of a preference come after a semicolon; `wait` has none.
                let preference = outside_quotes(preference, b';').next()?;
                let (name, value) = preference.split_once('=')?;
                name.trim().eq_ignore_ascii_case("wait").then(|| value.trim().trim_matches('"'))
            })?;
        let is_number = !seconds.is_empty() && seconds.bytes().all(|c| c.is_ascii_digit());
        // More digits than a u64 holds still mean "very long".
        let seconds = is_number.then(|| seconds.parse().unwrap_or(u64::MAX))?;
        (seconds > 0).then(|| Self(seconds.min(LONGEST_S)))
    }

    pub(crate) const fn duration(self) -> Duration {
        Duration::from_secs(self.0)
    }

    /// For `Preference-Applied`.
    pub(crate) fn applied(self) -> (HeaderName, HeaderValue) {
        let wait = HeaderValue::try_from(format!("wait={}", self.0));
        (PREFERENCE_APPLIED, wait.unwrap_or(HeaderValue::from_static("wait")))
    }
}

/// The parts of a list, where a separator within a quoted string is none.
fn outside_quotes(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let mut escaped = false;
    text.split(move |c: char| {
        let is_escaped = escaped;
        escaped = quoted && !is_escaped && c == '\\';
        if c == '"' && !is_escaped {
            quoted = !quoted;
        }
        !quoted && c == char::from(separator)
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn wait(values: &[&str]) -> Option<u64> {
        let headers: HeaderMap = values.iter().map(|value| (PREFER, value.parse().unwrap())).collect();
        Wait::of(&headers).map(|wait| wait.0)
    }

    #[test]
    fn the_wait_is_found_among_other_preferences() {
        assert_eq!(wait(&["wait=10"]), Some(10));
        assert_eq!(wait(&["respond-async, Wait = 10"]), Some(10));
        assert_eq!(wait(&["foo=\"a, wait=3; b\", wait=\"10\"; x=y"]), Some(10));
        assert_eq!(wait(&["foo=\"\\\", wait=3\", wait=4"]), Some(4));
        assert_eq!(wait(&["return=minimal", "wait=7"]), Some(7));
        assert_eq!(wait(&["wait=7, wait=9"]), Some(7));
    }

    #[test]
    fn the_wait_is_capped() {
        assert_eq!(wait(&["wait=3600"]), Some(60));
        assert_eq!(wait(&["wait=99999999999999999999999"]), Some(60));
    }

    #[test]
    fn what_is_no_wait_is_ignored() {
        for value in ["", "wait", "wait=", "wait=0", "wait=-1", "wait=1.5", "wait=ten", "waiting=10", "x; wait=10"] {
            assert_eq!(wait(&[value]), None, "{value:?}");
        }
    }
}
