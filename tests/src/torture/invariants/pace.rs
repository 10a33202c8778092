use std::time::{Duration, Instant};

use super::Seen;
use crate::torture::report::Report;

const WINDOWS_MS: [u64; 3] = [100, 1000, 10_000];

pub(super) fn check(seen: &Seen<'_>, report: &mut Report) {
    let (rate, burst) = (u64::from(seen.harness.setup.rate), u64::from(seen.harness.setup.burst));
    is_kept(seen.calls.iter().map(|call| call.at).collect(), rate, burst, report);
}

/// Checks a rate, in calls per second, and a burst.
pub(crate) fn is_kept(mut arrivals: Vec<Instant>, rate: u64, burst: u64, report: &mut Report) {
    arrivals.sort_unstable();
    for window in WINDOWS_MS {
        let (fullest, most) = (fullest(&arrivals, Duration::from_millis(window)), rate * window / 1000 + burst);
        report.fullest_windows.insert(window, (fullest, most));
        report.must(fullest <= most, || format!("{fullest} calls within {window} ms, there may be {most}"));
    }
}

/// The maximum number of arrivals in any window of this length.
fn fullest(arrivals: &[Instant], window: Duration) -> u64 {
    let mut first = 0;
    let mut fullest = 0;
    for (last, arrival) in arrivals.iter().enumerate() {
        while arrival.duration_since(arrivals[first]) > window {
            first += 1;
        }
        fullest = fullest.max(last - first + 1);
    }
    fullest as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_window_is_found_wherever_it_is() {
        let begun = Instant::now();
        let at = |ms: u64| begun + Duration::from_millis(ms);
        let arrivals: Vec<_> = [0, 50, 100, 300, 310, 320, 330, 500].map(at).to_vec();
        assert_eq!(fullest(&arrivals, Duration::from_millis(100)), 4);
        assert_eq!(fullest(&arrivals, Duration::from_millis(1000)), 8);
        assert_eq!(fullest(&[], Duration::from_millis(1000)), 0);
    }
}
