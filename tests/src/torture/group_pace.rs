//! Checks at the upstream that each group has kept its rate and its maximum of concurrent calls.

use std::time::Instant;

use super::invariants::pace::is_kept;
use super::jobs::{GROUPS, Jobs};
use super::report::Report;
use super::upstream::Call;

/// The limits of a group.
#[derive(Clone, Copy, Debug)]
pub struct GroupPace {
    /// Calls per second, and burst.
    pub rate: u64,
    pub burst: u64,
    /// Rate and burst of a tier.
    pub tier: Option<(u64, u64)>,
    /// Maximum number of concurrent calls.
    pub most: usize,
}

/// Checks the calls of all groups.
pub fn check(calls: &[Call], jobs: Jobs, paces: &[GroupPace; GROUPS], report: &mut Report) {
    for (group, pace) in paces.iter().enumerate() {
        let of_group = |call: &&Call| call.number.is_some_and(|number| jobs.group_number(number) == group);
        let calls: Vec<&Call> = calls.iter().filter(of_group).collect();
        let mut of_group = Report::default();
        for (rate, burst) in [(pace.rate, pace.burst)].into_iter().chain(pace.tier) {
            is_kept(calls.iter().map(|call| call.at).collect(), rate, burst, &mut of_group);
        }
        report.violations.extend(of_group.violations.iter().map(|violation| format!("of g{group}: {violation}")));
        for (window, (fullest, _)) in of_group.fullest_windows {
            let what = format!("calls of one group within {window} ms, at most");
            let most = report.notes.entry(what).or_default();
            *most = fullest.max(*most);
        }
        let under_way = under_way(calls.iter().filter_map(|call| Some((call.at, call.answered?))).collect());
        report.must(under_way <= pace.most, || {
            format!("of g{group}: {under_way} calls were under way at once, there may be {}", pace.most)
        });
        let most = report.notes.entry("calls of one group under way at once, at most".to_owned()).or_default();
        *most = (under_way as u64).max(*most);
    }
}

/// The maximum of concurrent calls, from arrival to answer. For the caller, calls take longer.
fn under_way(calls: Vec<(Instant, Instant)>) -> usize {
    let mut steps: Vec<(Instant, bool)> =
        calls.into_iter().flat_map(|(from, to)| [(from, true), (to, false)]).collect();
    // Ends are before starts at the same time.
    steps.sort_unstable();
    let (mut open, mut most) = (0_usize, 0);
    for (_, begins) in steps {
        open = if begins { open + 1 } else { open.saturating_sub(1) };
        most = most.max(open);
    }
    most
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn calls_are_under_way_until_they_are_answered() {
        let begun = Instant::now();
        let calls = |all: &[(u64, u64)]| {
            let at = |ms: u64| begun + Duration::from_millis(ms);
            under_way(all.iter().map(|(from, to)| (at(*from), at(*to))).collect())
        };
        assert_eq!(calls(&[(0, 10), (10, 20), (20, 30)]), 1);
        assert_eq!(calls(&[(0, 10), (5, 20), (9, 30), (10, 11)]), 3);
        assert_eq!(calls(&[]), 0);
    }
}
