//! `log`, with `log.lua`.

use std::collections::VecDeque;

use super::raw::{Parsed, Raw, text_error, time};
use super::rule::{Reader, Rule};
use crate::decide::verdict::Remaining;
use crate::decide::wait::Wait;
use crate::policy::tier::Tier;
use crate::policy::wire::Packed;

pub(super) fn read(raw: &Raw) -> Parsed<Tier> {
    let (limit, period) = raw.limit_per_period()?;
    let gap = raw.min_gap.as_deref().map(time).transpose()?.unwrap_or_default();
    text_error(Tier::log(limit, period, gap, raw.count_denied.unwrap_or(false)))
}

pub(super) fn pack(packed: &mut Packed, tier: &Tier, min_gap_us: u64, count_denied: bool) {
    packed.limit_and_period(tier).number(min_gap_us, 6).number(count_denied.into(), 1);
}

/// The time and cost of each call of the last period, the oldest first.
#[derive(Debug)]
pub(super) struct Log {
    limit: u64,
    period: u64,
    gap: u64,
    count_denied: bool,
    calls: VecDeque<(u64, u64)>,
}

impl Log {
    pub(super) fn new(limit: u64, period: u64, gap: u64, count_denied: bool) -> Self {
        Self { limit, period, gap, count_denied, calls: VecDeque::new() }
    }

    fn sum(&self) -> u64 {
        self.calls.iter().map(|(_, n)| n).sum()
    }

    fn gap_ends(&self) -> u64 {
        self.calls.back().map_or(0, |(time, _)| time + self.gap)
    }
}

impl Rule for Log {
    fn advance(&mut self, _last: u64, now: u64) {
        while self.calls.front().is_some_and(|(time, _)| now - time >= self.period) {
            self.calls.pop_front();
        }
    }

    fn wait(&self, now: u64, n: u64) -> Wait {
        if n > self.limit {
            return Wait::Never;
        }
        let mut free_at = if n == 0 { 0 } else { self.gap_ends() };
        let mut sum = self.sum() + n;
        for (time, freed) in &self.calls {
            if sum <= self.limit {
                break;
            }
            sum -= freed;
            free_at = free_at.max(time + self.period);
        }
        Wait::us(free_at.saturating_sub(now))
    }

    fn charge(&mut self, now: u64, n: u64, _lease: u64) {
        self.calls.push_back((now, n));
        while self.calls.front().is_some_and(|(_, oldest)| self.sum() - oldest >= self.limit) {
            self.calls.pop_front();
        }
    }

    fn refund(&mut self, _now: u64, n: u64, _lease: u64) {
        let mut rest = n;
        while let Some((_, last)) = self.calls.back_mut()
            && rest > 0
        {
            let back = rest.min(*last);
            rest -= back;
            *last -= back;
            if *last == 0 {
                self.calls.pop_back();
            }
        }
    }

    fn left(&self, now: u64) -> Remaining {
        let calls = if now < self.gap_ends() { 0 } else { self.limit.saturating_sub(self.sum()) };
        Remaining { calls, resets: self.calls.back().map_or(0, |(time, _)| time + self.period - now) }
    }

    fn counts_denied(&self) -> bool {
        self.count_denied
    }

    fn limit_to(&mut self, tier: &Tier) {
        self.limit = tier.limit();
    }

    fn read(&mut self, packed: &mut Reader<'_>) -> Option<()> {
        packed.number(5)?;
        let bytes = packed.number(4)?;
        self.calls = (0..bytes / 9).map(|_| Some((packed.number(7)?, packed.number(2)?))).collect::<Option<_>>()?;
        Some(())
    }
}
