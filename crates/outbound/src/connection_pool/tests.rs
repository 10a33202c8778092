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
        assert_eq!(idle_time(&Method::POST, StatusCode::OK, &headers), Duration::from_millis(ms), "{lines:?}");
    }
}
