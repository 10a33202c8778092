//! `sliding`, with `sliding.lua`.

use super::raw::{Parsed, Raw, text_error};
use super::rule::{Reader, Rule, div_up, product};
use crate::decide::verdict::Remaining;
use crate::decide::wait::Wait;
use crate::policy::tier::Tier;

pub(super) fn read(raw: &Raw) -> Parsed<Tier> {
    let (limit, period) = raw.limit_per_period()?;
    text_error(Tier::sliding(limit, period))
}

/// The counts of the previous window, which is weighted by its part in the sliding window, and of this one.
#[derive(Debug)]
pub(super) struct Sliding {
    limit: u64,
    period: u64,
    before: u64,
    count: u64,
}

impl Sliding {
    pub(super) fn new(limit: u64, period: u64) -> Self {
        Self { limit, period, before: 0, count: 0 }
    }

    fn rest(&self, now: u64) -> u64 {
        self.period - now % self.period
    }

    /// µs into a window after which `before` counts as no more than `room` calls.
    fn faded(&self, before: u64, room: u64) -> u64 {
        let heavy = product(before.saturating_sub(room), self.period);
        if before == 0 { 0 } else { div_up(heavy, before) }
    }
}

impl Rule for Sliding {
    fn advance(&mut self, last: u64, now: u64) {
        match now / self.period - last / self.period {
            0 => {}
            1 => (self.before, self.count) = (self.count, 0),
            _ => (self.before, self.count) = (0, 0),
        }
    }

    fn wait(&self, now: u64, n: u64) -> Wait {
        if n > self.limit {
            return Wait::Never;
        }
        let into = now % self.period;
        if self.count + n <= self.limit {
            let faded = self.faded(self.before, self.limit - self.count - n);
            return Wait::us(faded.saturating_sub(into));
        }
        Wait::us(self.rest(now) + self.faded(self.count, self.limit - n))
    }

    fn charge(&mut self, _now: u64, n: u64, _lease: u64) {
        self.count = self.count.saturating_add(n).min(self.count.max(2 * self.limit));
    }

    fn refund(&mut self, _now: u64, n: u64, _lease: u64) {
        self.count = self.count.saturating_sub(n);
    }

    fn left(&self, now: u64) -> Remaining {
        let rest = self.rest(now);
        let weighed = div_up(product(self.before, rest), self.period);
        let resets = match (self.count, self.before) {
            (0, 0) => 0,
            (0, _) => rest,
            _ => rest + self.period,
        };
        Remaining { calls: self.limit.saturating_sub(self.count).saturating_sub(weighed), resets }
    }

    fn limit_to(&mut self, tier: &Tier) {
        self.limit = tier.limit();
    }

    fn read(&mut self, packed: &mut Reader<'_>) -> Option<()> {
        (self.before, self.count) = (packed.number(5)?, packed.number(5)?);
        Some(())
    }
}
