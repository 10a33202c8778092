//! The rules for local decisions, while Redis is unavailable or between two calls to it. They have the same states and
//! results as the Lua rules; a test compares them.

use crate::decide::verdict::{Remaining, ScopeVerdict};
use crate::decide::wait::Wait;
use crate::kinds::{self, Reader, Rule};
use crate::policy::tier::Tier;
use crate::policy::wire::Phase;

/// Maximum µs by which the estimated Redis clock goes back unless somebody sets the clock.
pub(crate) const MAX_CLOCK_ERROR: u64 = 1_000_000;

/// The state of all tiers of one scope.
#[derive(Debug)]
pub(crate) struct LocalScope {
    last: u64,
    /// µs by which the scope's time is ahead of the clock, because somebody set the clock back.
    ahead: u64,
    tiers: Vec<(u8, Box<dyn Rule>)>,
}

impl LocalScope {
    /// A scope with nothing consumed.
    pub(crate) fn new<'t>(tiers: impl IntoIterator<Item = (&'t Tier, Phase)>) -> Self {
        let tier = |(tier, phase): (&Tier, Phase)| Some((kinds::code(tier.kind()), kinds::rule(tier, phase)?));
        Self { last: 0, ahead: 0, tiers: tiers.into_iter().filter_map(tier).collect() }
    }

    /// Advances the scope's time to `now`. If the clock went back a little, time stands still until the clock has
    /// caught up; if it was set back, time continues from where it was, as otherwise nothing would be allowed until
    /// then.
    pub(crate) fn advance<'t>(&mut self, now: u64, phases: impl IntoIterator<Item = (&'t Tier, Phase)>) {
        if now + self.ahead + MAX_CLOCK_ERROR < self.last {
            self.ahead = self.last - now;
        }
        let now = (now + self.ahead).max(self.last);
        for ((_, rule), (_, phase)) in self.tiers.iter_mut().zip(phases) {
            rule.relay(phase);
            rule.advance(self.last, now);
        }
        self.last = now;
    }

    /// Replaces the limits by those of `tiers`, which are the same otherwise. What was consumed stays consumed.
    pub(crate) fn limit_to<'t>(&mut self, tiers: impl IntoIterator<Item = &'t Tier>) {
        for ((_, rule), tier) in self.tiers.iter_mut().zip(tiers) {
            rule.limit_to(tier);
        }
    }

    /// How long a call of cost `n` would wait for each tier.
    pub(crate) fn waits(&self, n: u64) -> Vec<Wait> {
        self.tiers.iter().map(|(_, rule)| rule.wait(self.last, n)).collect()
    }

    /// Decides on a call, and charges it if it is allowed, at the time of the last [`LocalScope::advance`].
    pub(crate) fn take(&mut self, n: u64, lease: u64) -> ScopeVerdict {
        let mut waits = self.waits(n);
        let passed = waits.iter().all(|wait| *wait == Wait::Ready);
        match passed {
            _ if n == 0 => {}
            true => self.charge(n, lease),
            false => {
                // Logs that count denied calls make the caller's next wait longer.
                self.deny(n);
                waits = self.waits(n);
            }
        }
        let tiers = waits.into_iter().zip(self.left()).collect();
        ScopeVerdict { passed, taken: if passed { n } else { 0 }, tiers }
    }

    pub(crate) fn charge(&mut self, n: u64, lease: u64) {
        for (_, rule) in &mut self.tiers {
            rule.charge(self.last, n, lease);
        }
    }

    /// Charges the logs that count denied calls.
    pub(crate) fn deny(&mut self, n: u64) {
        for (_, rule) in &mut self.tiers {
            if rule.counts_denied() && rule.wait(self.last, n) != Wait::Never {
                rule.charge(self.last, n, 0);
            }
        }
    }

    pub(crate) fn refund(&mut self, n: u64, lease: u64) {
        for (_, rule) in &mut self.tiers {
            rule.refund(self.last, n, lease);
        }
    }

    pub(crate) fn release(&mut self, lease: u64) {
        for (_, rule) in &mut self.tiers {
            rule.release(lease);
        }
    }

    /// The scope's time, in µs of the Redis clock.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    pub(crate) fn left(&self) -> Vec<Remaining> {
        self.tiers.iter().map(|(_, rule)| rule.left(self.last)).collect()
    }

    /// Replaces the state by one of Redis. Returns `None` if that has another `fingerprint`, and so belongs to other
    /// tiers.
    pub(crate) fn read(&mut self, packed: &[u8], fingerprint: u32) -> Option<()> {
        self.read_next(&mut Reader::new(packed), fingerprint)
    }

    /// As [`LocalScope::read`], for a state that is followed by others.
    pub(crate) fn read_next(&mut self, reader: &mut Reader<'_>, fingerprint: u32) -> Option<()> {
        let last = reader.number(7)?;
        if reader.number(4)? != u64::from(fingerprint) {
            return None;
        }
        for (code, rule) in &mut self.tiers {
            if reader.number(1)? != u64::from(*code) {
                return None;
            }
            // Skips the period, which is the same if the fingerprint is.
            reader.number(6)?;
            rule.read(reader)?;
        }
        (self.last, self.ahead) = (last, 0);
        Some(())
    }
}
