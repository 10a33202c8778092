//! Counts per window: of the clock, of a calendar, or from the first call on.

use super::{Reader, Rule};
use crate::packed::Phase;
use crate::verdict::Left;
use crate::wait::Wait;

/// As much as five bytes hold.
const LARGEST: u64 = (1 << 40) - 1;

fn wait(limit: u64, count: u64, n: u64, rest: u64) -> Wait {
    match (n > limit, count + n.min(LARGEST) > limit) {
        (true, _) => Wait::Never,
        (_, true) => Wait::us(rest),
        _ => Wait::Ready,
    }
}

#[derive(Debug)]
pub(super) struct Epoch {
    limit: u64,
    period: u64,
    offset: u64,
    count: u64,
}

impl Epoch {
    pub(super) fn new(limit: u64, period: u64, offset: u64) -> Self {
        Self { limit, period, offset, count: 0 }
    }

    fn rest(&self, now: u64) -> u64 {
        self.period - (now + self.offset) % self.period
    }
}

impl Rule for Epoch {
    fn advance(&mut self, last: u64, now: u64) {
        let window = |time: u64| (time + self.offset) / self.period;
        if window(last) != window(now) {
            self.count = 0;
        }
    }

    fn wait(&self, now: u64, n: u64) -> Wait {
        wait(self.limit, self.count, n, self.rest(now))
    }

    fn charge(&mut self, _now: u64, n: u64, _lease: u64) {
        self.count = self.count.saturating_add(n).min(LARGEST);
    }

    fn refund(&mut self, _now: u64, n: u64, _lease: u64) {
        self.count = self.count.saturating_sub(n);
    }

    fn left(&self, now: u64) -> Left {
        Left { calls: self.limit.saturating_sub(self.count), resets: self.rest(now) }
    }

    fn read(&mut self, packed: &mut Reader<'_>) -> Option<()> {
        self.count = packed.number(5)?;
        Some(())
    }
}

#[derive(Debug)]
pub(super) struct Calendar {
    limit: u64,
    borders: [u64; 3],
    count: u64,
}

impl Calendar {
    pub(super) fn new(limit: u64, borders: [u64; 3]) -> Self {
        Self { limit, borders, count: 0 }
    }

    fn rest(&self, now: u64) -> u64 {
        self.borders.iter().find(|border| now < **border).map_or(1_000_000, |border| border - now)
    }
}

impl Rule for Calendar {
    fn advance(&mut self, last: u64, now: u64) {
        let [first, second, _] = self.borders;
        let began = if now < first {
            0
        } else if now < second {
            first
        } else {
            second
        };
        if last < began {
            self.count = 0;
        }
    }

    fn wait(&self, now: u64, n: u64) -> Wait {
        wait(self.limit, self.count, n, self.rest(now))
    }

    fn charge(&mut self, _now: u64, n: u64, _lease: u64) {
        self.count = self.count.saturating_add(n).min(LARGEST);
    }

    fn refund(&mut self, _now: u64, n: u64, _lease: u64) {
        self.count = self.count.saturating_sub(n);
    }

    fn left(&self, now: u64) -> Left {
        Left { calls: self.limit.saturating_sub(self.count), resets: self.rest(now) }
    }

    fn read(&mut self, packed: &mut Reader<'_>) -> Option<()> {
        self.count = packed.number(5)?;
        Some(())
    }

    fn relay(&mut self, phase: Phase) {
        self.borders = phase.borders;
    }
}

#[derive(Debug)]
pub(super) struct First {
    limit: u64,
    period: u64,
    starts: u64,
    count: u64,
}

impl First {
    pub(super) fn new(limit: u64, period: u64) -> Self {
        Self { limit, period, starts: 0, count: 0 }
    }
}

impl Rule for First {
    fn advance(&mut self, _last: u64, now: u64) {
        if self.count == 0 || now >= self.starts + self.period {
            (self.starts, self.count) = (now, 0);
        }
    }

    fn wait(&self, now: u64, n: u64) -> Wait {
        wait(self.limit, self.count, n, self.starts + self.period - now)
    }

    fn charge(&mut self, _now: u64, n: u64, _lease: u64) {
        self.count = self.count.saturating_add(n).min(LARGEST);
    }

    fn refund(&mut self, _now: u64, n: u64, _lease: u64) {
        self.count = self.count.saturating_sub(n);
    }

    fn left(&self, now: u64) -> Left {
        let resets = if self.count == 0 { 0 } else { self.starts + self.period - now };
        Left { calls: self.limit.saturating_sub(self.count), resets }
    }

    fn read(&mut self, packed: &mut Reader<'_>) -> Option<()> {
        (self.starts, self.count) = (packed.number(7)?, packed.number(5)?);
        Some(())
    }
}
