//! The interface of a kind: its rule, and how its state is parsed.

use std::fmt;

use crate::decide::verdict::Remaining;
use crate::decide::wait::Wait;
use crate::policy::tier::Tier;
use crate::policy::wire::Phase;

/// The state of one tier, and what its kind does with it. Times are µs of the Redis clock.
pub(crate) trait Rule: fmt::Debug + Send {
    fn advance(&mut self, last: u64, now: u64);
    fn wait(&self, now: u64, n: u64) -> Wait;
    fn charge(&mut self, now: u64, n: u64, lease: u64);
    fn refund(&mut self, now: u64, n: u64, lease: u64);
    fn left(&self, now: u64) -> Remaining;
    /// Releases a lease.
    fn release(&mut self, _lease: u64) {}
    /// Whether a denied call is charged.
    fn counts_denied(&self) -> bool {
        false
    }
    /// Reads the state as packed by a script. Returns `None` if it can't be parsed.
    fn read(&mut self, packed: &mut Reader<'_>) -> Option<()>;
    /// Replaces the limit by that of `tier`, which is the same otherwise. What was consumed stays consumed.
    fn limit_to(&mut self, tier: &Tier);
    /// Sets the current position of the windows, which changes for calendars.
    fn relay(&mut self, _phase: Phase) {}
}

/// Numbers as `struct.pack` writes them.
pub(crate) struct Reader<'p>(&'p [u8]);

impl<'p> Reader<'p> {
    pub(crate) fn new(packed: &'p [u8]) -> Self {
        Self(packed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn number(&mut self, width: usize) -> Option<u64> {
        let (bytes, rest) = self.0.split_at_checked(width)?;
        self.0 = rest;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }
}

/// Divides and rounds up, to at most `u64::MAX`.
pub(super) fn div_up(product: u128, by: u64) -> u64 {
    u64::try_from(product.div_ceil(u128::from(by.max(1)))).unwrap_or(u64::MAX)
}

pub(super) fn product(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}
