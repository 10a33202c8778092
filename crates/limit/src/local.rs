//! The rules for local decisions: while Redis is unavailable, or between two calls to it. They are the same as in Lua,
//! state for state; a test compares them.

use crate::decide::verdict::{Remaining, ScopeVerdict};
use crate::decide::wait::Wait;
use crate::kinds::{self, Reader, Rule};
use crate::policy::tier::Tier;
use crate::policy::wire::Phase;

/// µs by which the clock of Redis, as a process measures it, goes back while nobody sets it, at most.
const NOISE: u64 = 1_000_000;

/// All tiers of one scope.
#[derive(Debug)]
pub(crate) struct LocalScope {
    last: u64,
    /// µs by which its time is ahead of the clock, since somebody set that back.
    ahead: u64,
    tiers: Vec<(u8, Box<dyn Rule>)>,
}

impl LocalScope {
    /// A scope that was never seen.
    pub(crate) fn new<'t>(tiers: impl IntoIterator<Item = (&'t Tier, Phase)>) -> Self {
        let tier = |(tier, phase): (&Tier, Phase)| Some((kinds::code(tier.kind()), kinds::rule(tier, phase)?));
        Self { last: 0, ahead: 0, tiers: tiers.into_iter().filter_map(tier).collect() }
    }

    /// Lets time pass up to `now`. A clock that went back has stood still; one that was set back goes on from where it
    /// was: else nothing would pass, or be learned from Redis, until it is there again.
    pub(crate) fn advance<'t>(&mut self, now: u64, phases: impl IntoIterator<Item = (&'t Tier, Phase)>) {
        if now + self.ahead + NOISE < self.last {
            self.ahead = self.last - now;
        }
        let now = (now + self.ahead).max(self.last);
        for ((_, rule), (_, phase)) in self.tiers.iter_mut().zip(phases) {
            rule.relay(phase);
            rule.advance(self.last, now);
        }
        self.last = now;
    }

    /// Has the limits of `tiers`, which are else the same, from now on: what was consumed stays consumed.
    pub(crate) fn limit_to<'t>(&mut self, tiers: impl IntoIterator<Item = &'t Tier>) {
        for ((_, rule), tier) in self.tiers.iter_mut().zip(tiers) {
            rule.limit_to(tier);
        }
    }

    /// How long `n` would wait for each tier.
    pub(crate) fn waits(&self, n: u64) -> Vec<Wait> {
        self.tiers.iter().map(|(_, rule)| rule.wait(self.last, n)).collect()
    }

    /// Judges, and charges if it passes: at the time of the last [`LocalScope::advance`].
    pub(crate) fn take(&mut self, n: u64, lease: u64) -> ScopeVerdict {
        let mut waits = self.waits(n);
        let passed = waits.iter().all(|wait| *wait == Wait::Ready);
        match passed {
            _ if n == 0 => {}
            true => self.charge(n, lease),
            false => {
                // Who comes again will find this one in the logs that count the denied.
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

    /// Charges the logs that count the denied.
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

    /// µs of the Redis clock up to which time has passed.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    pub(crate) fn left(&self) -> Vec<Remaining> {
        self.tiers.iter().map(|(_, rule)| rule.left(self.last)).collect()
    }

    /// Takes the state that Redis holds for tiers of this `fingerprint`; None: it is of others, and nothing was taken.
    pub(crate) fn read(&mut self, packed: &[u8], fingerprint: u32) -> Option<()> {
        self.read_next(&mut Reader::new(packed), fingerprint)
    }

    /// The same of a state with others behind it.
    pub(crate) fn read_next(&mut self, reader: &mut Reader<'_>, fingerprint: u32) -> Option<()> {
        let last = reader.number(7)?;
        if reader.number(4)? != u64::from(fingerprint) {
            return None;
        }
        for (code, rule) in &mut self.tiers {
            if reader.number(1)? != u64::from(*code) {
                return None;
            }
            // The period, which the fingerprint vouches for.
            reader.number(6)?;
            rule.read(reader)?;
        }
        (self.last, self.ahead) = (last, 0);
        Some(())
    }
}
