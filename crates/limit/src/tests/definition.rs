//! What each kind means, from the history of all that was done: no state is kept, and every fraction is exact.

use crate::policy::tier::{Align, Tier, TierKind};
use crate::policy::wire::Phase;

/// What was done, when, and for how much.
#[derive(Clone, Copy, Debug)]
pub(super) enum Done {
    Charged { at: u64, n: u64, id: u64 },
    Denied { at: u64, n: u64 },
    Refunded { at: u64, n: u64, id: u64 },
}

impl Done {
    fn at(self) -> u64 {
        match self {
            Self::Charged { at, .. } | Self::Denied { at, .. } | Self::Refunded { at, .. } => at,
        }
    }
}

/// A tier by its definition.
pub(super) struct Definition {
    tier: Tier,
    phase: Phase,
    history: Vec<Done>,
    /// Of each in the history, the window that it was done in.
    windows: Vec<u64>,
}

impl Definition {
    pub(super) fn new(tier: Tier, phase: Phase) -> Self {
        Self { tier, phase, history: Vec::new(), windows: Vec::new() }
    }

    pub(super) fn add(&mut self, done: Done) {
        self.windows.push(self.window(done.at()));
        self.history.push(done);
    }

    /// Checks what was reported of a request for `n` at `now`, after it was added: the time to wait for it, to the
    /// microsecond; how many more would pass; and when all would.
    pub(super) fn check(&self, now: u64, n: u64, told: &[i64]) {
        let [wait, left, resets] = told else { panic!("of one tier: {told:?}") };
        let ready = |wait: i64| self.passes(now + u64::try_from(wait).unwrap(), n);
        match *wait {
            -1 => assert!(n > self.tier.most(), "it would pass some time"),
            0 => {}
            wait => assert!(ready(wait) && !ready(wait - 1), "the wait isn't {wait}"),
        }
        let left = u64::try_from(*left).unwrap();
        assert!(left == 0 || self.passes(now, left), "{left} more don't pass");
        assert!(!self.passes(now, left + 1), "more than {left} pass");
        assert!(self.passes(now + u64::try_from(*resets).unwrap(), self.tier.most()), "not all is left in {resets}");
    }

    /// Whether `n` would pass at `now`, nothing else having happened until then.
    pub(super) fn passes(&self, now: u64, n: u64) -> bool {
        if n > self.tier.most() {
            return false;
        }
        let (limit, period) = (i128::from(self.tier.limit()), i128::from(self.tier.period_us()));
        let (now_us, n_calls) = (i128::from(now), i128::from(n));
        match self.tier.kind() {
            // In parts of a call, of which a period has `limit`: each µs takes that many, a call brings a period.
            TierKind::Bucket { .. } | TierKind::Gate => {
                self.level(now) + n_calls * period <= i128::from(self.tier.most()) * period
            }
            TierKind::Fixed(Align::First) => self.since_first(now) + n_calls <= limit,
            TierKind::Fixed(_) => self.in_window(self.window(now)) + n_calls <= limit,
            TierKind::Sliding => {
                let window = self.window(now);
                let rest = period - now_us % period;
                let before = window.checked_sub(1).map_or(0, |before| self.in_window(before));
                before * rest + (self.in_window(window) + n_calls) * period <= limit * period
            }
            TierKind::Log { min_gap_us, .. } => {
                let calls = self.log();
                let young = calls.iter().filter(|(at, _)| now - at < self.tier.period_us());
                let sum: u64 = young.map(|(_, n)| n).sum();
                let apart = calls.last().is_none_or(|(at, _)| n == 0 || now - at >= *min_gap_us);
                sum + n <= self.tier.limit() && apart
            }
            TierKind::Concurrent => self.leases(now) + n_calls <= limit,
            TierKind::Backlog => true,
        }
    }

    fn level(&self, now: u64) -> i128 {
        let (limit, period) = (i128::from(self.tier.limit()), i128::from(self.tier.period_us()));
        let (mut level, mut last) = (0, 0);
        let drained = |level: i128, last, at| (level - i128::from(at - last) * limit).max(0);
        for done in &self.history {
            level = drained(level, last, done.at());
            last = done.at();
            match *done {
                Done::Charged { n, .. } => level += i128::from(n) * period,
                Done::Refunded { n, .. } => level = (level - i128::from(n) * period).max(0),
                Done::Denied { .. } => {}
            }
        }
        drained(level, last, now)
    }

    /// The number of the window of the clock, or of the calendar, that `at` lies in.
    fn window(&self, at: u64) -> u64 {
        match self.tier.kind() {
            TierKind::Fixed(Align::Calendar(calendar)) => calendar.borders(at)[0],
            _ => (at + self.phase.offset) / self.tier.period_us(),
        }
    }

    fn in_window(&self, window: u64) -> i128 {
        let within = self.history.iter().zip(&self.windows).filter(|(_, at)| **at == window);
        within.fold(0, |count, (done, _)| match *done {
            Done::Charged { n, .. } => count + i128::from(n),
            Done::Refunded { n, .. } => (count - i128::from(n)).max(0),
            Done::Denied { .. } => count,
        })
    }

    /// The count of the window that the first call after the window before has begun.
    fn since_first(&self, now: u64) -> i128 {
        let period = self.tier.period_us();
        let (mut begin, mut count) = (None, 0);
        for done in &self.history {
            let over = begin.is_none_or(|begin| done.at() - begin >= period) || count == 0;
            match *done {
                Done::Charged { at, n, .. } if over => (begin, count) = (Some(at), i128::from(n)),
                Done::Charged { n, .. } => count += i128::from(n),
                Done::Refunded { n, .. } if !over => count = (count - i128::from(n)).max(0),
                Done::Refunded { .. } | Done::Denied { .. } => {}
            }
        }
        if begin.is_some_and(|begin| now - begin < period) { count } else { 0 }
    }

    /// The calls that a log knows, also those that it has forgotten since. A refund takes the youngest that are in it.
    fn log(&self) -> Vec<(u64, u64)> {
        let TierKind::Log { count_denied, .. } = *self.tier.kind() else { return Vec::new() };
        let mut calls: Vec<(u64, u64)> = Vec::new();
        for done in &self.history {
            match *done {
                Done::Charged { at, n, .. } => calls.push((at, n)),
                Done::Denied { at, n } if count_denied && n <= self.tier.limit() => calls.push((at, n)),
                Done::Denied { .. } => {}
                Done::Refunded { at, n, .. } => {
                    let mut rest = n;
                    for (time, n) in calls.iter_mut().rev() {
                        if at - *time < self.tier.period_us() {
                            let back = rest.min(*n);
                            (rest, *n) = (rest - back, *n - back);
                        }
                    }
                    calls.retain(|(_, n)| *n > 0);
                }
            }
        }
        calls
    }

    fn leases(&self, now: u64) -> i128 {
        let given_back =
            |lease| self.history.iter().any(|done| matches!(*done, Done::Refunded { id, .. } if id == lease));
        let out = self.history.iter().filter_map(|done| match *done {
            Done::Charged { at, n, id } if now - at < self.tier.period_us() && !given_back(id) => Some(i128::from(n)),
            _ => None,
        });
        out.sum()
    }
}
