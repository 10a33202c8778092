//! A log of allowed calls, and bounds on how many were allowed within a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::clock::Clock;

/// An allowed call. The decision was made at some time between these two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PassedCall {
    pub(crate) asked: Instant,
    pub(crate) answered: Instant,
}

/// All allowed calls, in the order of their answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct PassedCalls(Vec<PassedCall>);

/// Records allowed calls during an experiment. Clones share the log.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallLog(Arc<Mutex<Vec<PassedCall>>>);

impl CallLog {
    /// Records a call that was requested at `asked`, and has just been allowed.
    pub(crate) fn passed(&self, asked: Instant) {
        self.0.lock().push(PassedCall { asked, answered: Instant::now() });
    }

    /// Records a call that was observed at `at`.
    pub(crate) fn seen(&self, at: Instant) {
        self.0.lock().push(PassedCall { asked: at, answered: at });
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().len()
    }

    pub(crate) fn read(&self) -> PassedCalls {
        PassedCalls::of(self.0.lock().clone())
    }
}

impl PassedCalls {
    pub(crate) fn of(mut passes: Vec<PassedCall>) -> Self {
        passes.sort_by_key(|pass| pass.answered);
        Self(passes)
    }

    pub(crate) fn count(&self) -> u64 {
        count(self.0.len())
    }

    pub(crate) fn first(&self) -> Option<Instant> {
        self.0.first().map(|pass| pass.answered)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &PassedCall> {
        self.0.iter()
    }

    /// Returns the calls within `window` after the first one.
    pub(crate) fn within_first(&self, window: Duration) -> Self {
        let Some(first) = self.first() else { return Self::default() };
        Self(self.0.iter().filter(|pass| pass.answered < first + window).copied().collect())
    }

    /// Returns the number of calls in each `bin` from `begin` on, up to the last call.
    pub(crate) fn per(&self, bin: Duration, begin: Instant) -> Vec<u64> {
        let mut bins = Vec::new();
        for pass in &self.0 {
            let since = pass.answered.saturating_duration_since(begin).as_micros();
            let at = usize::try_from(since / bin.as_micros().max(1)).unwrap_or(usize::MAX).min(MOST_BINS);
            if bins.len() <= at {
                bins.resize(at + 1, 0);
            }
            bins[at] += 1;
        }
        bins
    }

    /// Returns the maximum number of calls that were certainly within one window of this length.
    pub(crate) fn most_within(&self, window: Duration) -> u64 {
        let within = |first: &PassedCall| {
            let [begin, end] =
                [first.asked, first.asked + window].map(|at| self.0.partition_point(|pass| pass.answered < at));
            self.0[begin..end].iter().filter(|pass| pass.asked >= first.asked).count()
        };
        self.0.iter().map(within).max().map_or(0, count)
    }

    /// Returns the most that were surely within one window of the Redis clock, of those that begin at multiples of
    /// `period`.
    pub(crate) fn most_in_aligned(&self, period: Duration, clock: Clock) -> u64 {
        let period = i64::try_from(period.as_micros()).unwrap_or(i64::MAX).max(1);
        let window = |pass: &PassedCall| {
            let (asked, answered) =
                (clock.us(pass.asked).div_euclid(period), clock.us(pass.answered).div_euclid(period));
            (asked == answered).then_some(asked)
        };
        let mut windows: Vec<i64> = self.0.iter().filter_map(window).collect();
        windows.sort_unstable();
        windows.chunk_by(|a, b| a == b).map(|same| count(same.len())).max().unwrap_or(0)
    }

    /// Returns how many calls certainly came less than `gap` after the one before.
    pub(crate) fn closer_than(&self, gap: Duration) -> u64 {
        count(self.0.windows(2).filter(|pair| pair[1].answered - pair[0].asked < gap).count())
    }
}

/// More bins wouldn't be readable in a chart.
const MOST_BINS: usize = 10_000;

fn count(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn passes(begin: Instant, ms: &[(u32, u32)]) -> PassedCalls {
        PassedCalls::of(
            ms.iter()
                .map(|(asked, answered)| PassedCall { asked: begin + MS * *asked, answered: begin + MS * *answered })
                .collect(),
        )
    }

    #[test]
    fn calls_are_counted_in_the_bin_in_which_they_passed() {
        let begin = Instant::now();
        let passes = passes(begin, &[(0, 0), (0, 99), (99, 100), (340, 350)]);
        assert_eq!(passes.per(100 * MS, begin), [2, 1, 0, 1]);
        assert_eq!(PassedCalls::default().per(100 * MS, begin), [0; 0]);
    }

    #[test]
    fn a_call_is_in_a_window_only_if_it_surely_is() {
        let begin = Instant::now();
        // The second was asked for in time, and may have passed too late.
        assert_eq!(passes(begin, &[(0, 1), (99, 101)]).most_within(100 * MS), 1);
        assert_eq!(passes(begin, &[(0, 1), (98, 99), (150, 160)]).most_within(100 * MS), 2);
        assert_eq!(passes(begin, &[(0, 0), (50, 50), (100, 100), (149, 149)]).most_within(100 * MS), 3);
        // The first was under way when the second was asked for, and may have passed long before it.
        assert_eq!(passes(begin, &[(0, 60), (50, 51), (145, 149)]).most_within(100 * MS), 2);
    }

    #[test]
    fn aligned_windows_begin_with_the_redis_clock() {
        let begin = Instant::now();
        let clock = Clock::showing(1_000_450_000, begin);
        let passes = passes(begin, &[(0, 10), (30, 40), (45, 55), (60, 70), (70, 80), (80, 90)]);
        // 50 ms after the beginning a window of 500 ms begins; the third call is on the border.
        assert_eq!(passes.most_in_aligned(500 * MS, clock), 3);
    }

    #[test]
    fn a_gap_is_too_short_only_if_it_surely_is() {
        let begin = Instant::now();
        assert_eq!(passes(begin, &[(0, 2), (20, 24), (30, 34)]).closer_than(25 * MS), 2);
        assert_eq!(passes(begin, &[(0, 2), (20, 26)]).closer_than(25 * MS), 0);
    }
}
