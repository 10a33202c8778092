//! Counters per window, which is aligned to the epoch or a calendar, or begins with the first call.

use std::fmt;

use super::rule::{Reader, Rule};
use crate::decide::verdict::Remaining;
use crate::decide::wait::Wait;
use crate::policy::tier::Tier;
use crate::policy::wire::Phase;

/// The largest number of five bytes.
const MAX_COUNT: u64 = (1 << 40) - 1;

/// When a window begins and ends.
pub(super) trait Frame: fmt::Debug + Send {
    /// Whether another window has begun since `last`. `count` is the count of the window at `last`.
    fn turns(&mut self, last: u64, now: u64, count: u64) -> bool;

    /// µs until the window ends.
    fn rest(&self, now: u64) -> u64;

    /// µs until a window without counts ends.
    fn rest_of_empty(&self, now: u64) -> u64 {
        self.rest(now)
    }

    fn read(&mut self, _packed: &mut Reader<'_>) -> Option<()> {
        Some(())
    }

    fn relay(&mut self, _phase: Phase) {}
}

#[derive(Debug)]
pub(super) struct Window<F> {
    limit: u64,
    count: u64,
    frame: F,
}

impl<F: Frame> Window<F> {
    pub(super) fn new(limit: u64, frame: F) -> Self {
        Self { limit, count: 0, frame }
    }
}

impl<F: Frame> Rule for Window<F> {
    fn advance(&mut self, last: u64, now: u64) {
        if self.frame.turns(last, now, self.count) {
            self.count = 0;
        }
    }

    fn wait(&self, now: u64, n: u64) -> Wait {
        match (n > self.limit, self.count + n.min(MAX_COUNT) > self.limit) {
            (true, _) => Wait::Never,
            (_, true) => Wait::us(self.frame.rest(now)),
            _ => Wait::Ready,
        }
    }

    fn charge(&mut self, _now: u64, n: u64, _lease: u64) {
        self.count = self.count.saturating_add(n).min(MAX_COUNT);
    }

    fn refund(&mut self, _now: u64, n: u64, _lease: u64) {
        self.count = self.count.saturating_sub(n);
    }

    fn left(&self, now: u64) -> Remaining {
        let resets = if self.count == 0 { self.frame.rest_of_empty(now) } else { self.frame.rest(now) };
        Remaining { calls: self.limit.saturating_sub(self.count), resets }
    }

    fn limit_to(&mut self, tier: &Tier) {
        self.limit = tier.limit();
    }

    fn read(&mut self, packed: &mut Reader<'_>) -> Option<()> {
        self.frame.read(packed)?;
        self.count = packed.number(5)?;
        Some(())
    }

    fn relay(&mut self, phase: Phase) {
        self.frame.relay(phase);
    }
}

/// Windows of one length, aligned to the epoch.
#[derive(Debug)]
pub(super) struct Epoch {
    pub(super) period: u64,
    pub(super) offset: u64,
}

impl Frame for Epoch {
    fn turns(&mut self, last: u64, now: u64, _count: u64) -> bool {
        let window = |time: u64| (time + self.offset) / self.period;
        window(last) != window(now)
    }

    fn rest(&self, now: u64) -> u64 {
        self.period - (now + self.offset) % self.period
    }
}

/// Windows between the borders of a calendar.
#[derive(Debug)]
pub(super) struct Calendar {
    pub(super) borders: [u64; 3],
}

impl Frame for Calendar {
    fn turns(&mut self, last: u64, now: u64, _count: u64) -> bool {
        let [first, second, _] = self.borders;
        let began = if now < first {
            0
        } else if now < second {
            first
        } else {
            second
        };
        last < began
    }

    fn rest(&self, now: u64) -> u64 {
        self.borders.iter().find(|border| now < **border).map_or(1_000_000, |border| border - now)
    }

    fn relay(&mut self, phase: Phase) {
        self.borders = phase.borders;
    }
}

/// A window that begins with the first call.
#[derive(Debug)]
pub(super) struct First {
    period: u64,
    starts: u64,
}

impl First {
    pub(super) const fn new(period: u64) -> Self {
        Self { period, starts: 0 }
    }
}

impl Frame for First {
    fn turns(&mut self, _last: u64, now: u64, count: u64) -> bool {
        let turns = count == 0 || now >= self.starts + self.period;
        if turns {
            self.starts = now;
        }
        turns
    }

    fn rest(&self, now: u64) -> u64 {
        self.starts + self.period - now
    }

    fn rest_of_empty(&self, _now: u64) -> u64 {
        0
    }

    fn read(&mut self, packed: &mut Reader<'_>) -> Option<()> {
        self.starts = packed.number(7)?;
        Some(())
    }
}
