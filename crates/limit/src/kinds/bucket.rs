//! `bucket` and `gate`, with `bucket.lua`.

use super::raw::{Parsed, Raw, text_error, time};
use super::rule::{Reader, Rule, div_up, product};
use crate::decide::verdict::Remaining;
use crate::decide::wait::Wait;
use crate::policy::tier::Tier;
use crate::policy::wire::Packed;

pub(super) fn read(raw: &Raw) -> Parsed<Tier> {
    let (limit, period) = raw.limit_per_period()?;
    text_error(Tier::bucket(limit, period, raw.burst.unwrap_or(limit)))
}

pub(super) fn read_gate(raw: &Raw) -> Parsed<Tier> {
    match raw.limit_per(Some(1))? {
        (1, period) => text_error(Tier::gate(time(&period)?)),
        (limit, _) => Err(format!("a gate's limit is 1, not {limit}: use the kind `bucket`")),
    }
}

pub(super) fn pack(packed: &mut Packed, tier: &Tier) {
    let (limit, unit) = tier.drain();
    packed.number(limit, 7).number(unit, 6).number(tier.most(), 7);
}

/// A leaky bucket; the level is in units of µs·calls.
#[derive(Debug)]
pub(super) struct Bucket {
    limit: u64,
    unit: u64,
    burst: u64,
    level: u128,
}

impl Bucket {
    pub(super) fn new(limit: u64, unit: u64, burst: u64) -> Self {
        Self { limit, unit, burst, level: 0 }
    }

    fn full(&self) -> u128 {
        product(self.burst, self.unit)
    }
}

impl Rule for Bucket {
    fn advance(&mut self, last: u64, now: u64) {
        self.level = self.level.saturating_sub(product(now - last, self.limit));
    }

    fn wait(&self, _now: u64, n: u64) -> Wait {
        if n > self.burst {
            return Wait::Never;
        }
        let wanted = self.level + product(n, self.unit);
        Wait::us(div_up(wanted.saturating_sub(self.full()), self.limit))
    }

    fn charge(&mut self, _now: u64, n: u64, _lease: u64) {
        self.level = (self.level + product(n, self.unit)).min(self.level.max(2 * self.full()));
    }

    fn refund(&mut self, _now: u64, n: u64, _lease: u64) {
        self.level = self.level.saturating_sub(product(n, self.unit));
    }

    fn left(&self, _now: u64) -> Remaining {
        let calls = self.full().saturating_sub(self.level) / u128::from(self.unit);
        Remaining { calls: u64::try_from(calls).unwrap_or(u64::MAX), resets: div_up(self.level, self.limit) }
    }

    fn limit_to(&mut self, tier: &Tier) {
        let (limit, unit) = tier.drain();
        let level = (self.level * u128::from(unit)).div_ceil(u128::from(self.unit));
        *self = Self { level, ..Self::new(limit, unit, tier.most()) };
    }

    fn read(&mut self, packed: &mut Reader<'_>) -> Option<()> {
        self.level = packed.number(7)?.into();
        Some(())
    }
}
