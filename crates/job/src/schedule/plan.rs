//! Decides which of the due ticks get a job.

use std::time::Duration;

use super::timetable::Timetable;
use crate::units::duration::ms_up;

/// The maximum number of missed ticks that are submitted later.
const MAX_LATE_TICKS: usize = 100;
/// The default grace with `Missed::Skip`.
const ON_TIME: Duration = Duration::from_mins(1);
/// The minimum grace: all ticks are submitted some ms late, and some a second.
const MIN_GRACE: Duration = Duration::from_secs(1);

/// What happens to ticks that couldn't be submitted in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missed {
    /// Only the latest one is submitted.
    #[default]
    Latest,
    /// All are submitted, at most the latest hundred.
    All,
    /// Ticks that are later than the grace, by default a minute, aren't submitted.
    Skip,
}

/// What happens to a tick while the job of an earlier one is in the bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    #[default]
    Allow,
    /// It gets no job.
    Skip,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    pub missed: Missed,
    /// How late a tick may be submitted; at least a second. By default unlimited, with `skip` a minute.
    pub grace: Option<Duration>,
    pub overlap: Overlap,
}

/// A step of a schedule from its next tick to a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The next tick before this step.
    pub from: u64,
    /// The tick that gets a job, or `None` if no due tick does.
    pub tick: Option<u64>,
    /// The next tick after this step, or `None` if there are no more.
    pub next: Option<u64>,
    /// The number of ticks that get no job.
    pub missed: u64,
}

impl Policy {
    fn grace_ms(&self) -> u64 {
        match (self.grace, self.missed) {
            (Some(grace), _) => ms_up(grace.max(MIN_GRACE)),
            (None, Missed::Skip) => ms_up(ON_TIME),
            (None, Missed::Latest | Missed::All) => u64::MAX,
        }
    }

    /// Returns the consecutive steps at `now` of a schedule whose next tick is `from`. Empty if that tick isn't due.
    #[must_use]
    pub fn steps(&self, timetable: &Timetable, from: u64, now: u64) -> Vec<Step> {
        if from > now {
            return Vec::new();
        }
        let most = if self.missed == Missed::All { MAX_LATE_TICKS } else { 1 };
        let due = timetable.due(from, now, most);
        let last = due.latest.back().copied().unwrap_or(from);
        let grace = self.grace_ms();
        let ticks: Vec<u64> = due.latest.into_iter().filter(|tick| now - tick <= grace).collect();
        let after = timetable.next_after(last.max(now));
        if ticks.is_empty() {
            return vec![Step { from, tick: None, next: after, missed: due.count }];
        }
        let missed = due.count.saturating_sub(ticks.len() as u64);
        let next = ticks.iter().skip(1).copied().map(Some).chain([after]);
        let steps = ticks.iter().zip(next).map(|(tick, next)| Step { from: *tick, tick: Some(*tick), next, missed: 0 });
        let mut steps: Vec<Step> = steps.collect();
        if let Some(first) = steps.first_mut() {
            (first.from, first.missed) = (from, missed);
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    const S: u64 = 1000;

    fn every_10s() -> Timetable {
        Timetable::every(Duration::from_secs(10)).unwrap()
    }

    fn steps(missed: Missed, grace: Option<u64>, from: u64, now: u64) -> Vec<(u64, Option<u64>, Option<u64>, u64)> {
        let policy = Policy { missed, grace: grace.map(Duration::from_secs), ..Policy::default() };
        let step = |step: Step| (step.from / S, step.tick.map(|ms| ms / S), step.next.map(|ms| ms / S), step.missed);
        policy.steps(&every_10s(), from * S, now * S).into_iter().map(step).collect()
    }

    #[test]
    fn a_tick_that_has_not_come_is_left_alone() {
        for missed in [Missed::Latest, Missed::All, Missed::Skip] {
            assert_eq!(steps(missed, None, 20, 19), []);
            assert_eq!(steps(missed, None, 20, 20), [(20, Some(20), Some(30), 0)]);
            assert_eq!(steps(missed, None, 20, 29), [(20, Some(20), Some(30), 0)]);
        }
    }

    #[test]
    fn missed_ticks_are_made_up_by_policy_latest_all_or_none() {
        assert_eq!(steps(Missed::Latest, None, 20, 45), [(20, Some(40), Some(50), 2)]);
        assert_eq!(
            steps(Missed::All, None, 20, 45),
            [(20, Some(20), Some(30), 0), (30, Some(30), Some(40), 0), (40, Some(40), Some(50), 0)]
        );
        assert_eq!(steps(Missed::Skip, Some(4), 20, 45), [(20, None, Some(50), 3)]);
        assert_eq!(steps(Missed::Skip, None, 20, 45), [(20, Some(40), Some(50), 2)]);
    }

    #[test]
    fn no_more_than_a_hundred_are_made_up() {
        let all = steps(Missed::All, None, 20, 20_005);
        assert_eq!(
            (all.len(), all[0], all[99]),
            (100, (20, Some(19_010), Some(19_020), 1899), { (20_000, Some(20_000), Some(20_010), 0) })
        );
    }

    #[test]
    fn a_tick_is_never_missed_because_it_is_submitted_a_little_late() {
        for missed in [Missed::Latest, Missed::All, Missed::Skip] {
            let policy = Policy { missed, grace: Some(Duration::ZERO), ..Policy::default() };
            let ticks = |now| policy.steps(&every_10s(), 20 * S, now).iter().map(|step| step.tick).collect::<Vec<_>>();
            assert_eq!(ticks(21 * S), [Some(20 * S)]);
            assert_eq!(ticks(21 * S + 1), [None]);
        }
    }

    #[test]
    fn a_tick_later_than_the_grace_is_missed() {
        assert_eq!(steps(Missed::Latest, Some(5), 20, 45), [(20, Some(40), Some(50), 2)]);
        assert_eq!(steps(Missed::Latest, Some(4), 20, 45), [(20, None, Some(50), 3)]);
        assert_eq!(steps(Missed::All, Some(15), 20, 45), [(20, Some(30), Some(40), 1), (40, Some(40), Some(50), 0)]);
    }
}
