//! How long a connection may be kept after an answer.

use std::time::Duration;

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, StatusCode};

/// Many servers close a quiet connection after 5 s: one that is used when they do looks like a cut answer.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// After an answer: shorter where its server closes earlier (`Keep-Alive: timeout=N`). The rest of that time is left to
/// a request on its way there. None where a body is announced that the protocol doesn't allow: what comes would be
/// taken for the next answer.
pub(crate) fn idle_time(status: StatusCode, headers: &HeaderMap) -> Duration {
    if status == StatusCode::NO_CONTENT && announces_body(headers) {
        return Duration::ZERO;
    }
    let lines = headers.get_all(KEEP_ALIVE).iter().filter_map(|line| line.to_str().ok());
    let times = lines.flat_map(|line| line.split(',')).filter_map(timeout_of);
    times.map(|time| time.saturating_mul(4) / 5).min().map_or(IDLE_TIMEOUT, |time| time.min(IDLE_TIMEOUT))
}

fn announces_body(headers: &HeaderMap) -> bool {
    headers.contains_key(TRANSFER_ENCODING) || headers.get(CONTENT_LENGTH).is_some_and(|length| length != "0")
}

fn timeout_of(parameter: &str) -> Option<Duration> {
    let (name, value) = parameter.split_once('=')?;
    let seconds = value.trim().trim_matches('"').parse().ok()?;
    name.trim().eq_ignore_ascii_case("timeout").then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn a_server_that_closes_earlier_is_believed() {
        for (lines, ms) in [
            (&["timeout=5, max=100"][..], 4000),
            (&["timeout=1"], 800),
            (&["max=3, Timeout = \"2\""], 1600),
            (&["max=3", "timeout=3"], 2400),
            (&["timeout=0"], 0),
            (&["timeout=120"], 4000),
            (&["timeout=18446744073709551615"], 4000),
            (&["timeout=-1", "timeout", "max=1", ""], 4000),
            (&[], 4000),
        ] {
            let headers = lines.iter().map(|line| (KEEP_ALIVE, line.parse().unwrap())).collect();
            assert_eq!(idle_time(StatusCode::OK, &headers), Duration::from_millis(ms), "{lines:?}");
        }
    }
}
