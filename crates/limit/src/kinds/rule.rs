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
    /// The call that holds a lease is over.
    fn release(&mut self, _lease: u64) {}
    /// Whether a denied call is charged.
    fn counts_denied(&self) -> bool {
        false
    }
    /// Takes the state as a script has packed it; None: it is something else.
    fn read(&mut self, packed: &mut Reader<'_>) -> Option<()>;
    /// Has the limit of `tier`, which is else the same, from now on: what was consumed stays consumed.
    fn limit_to(&mut self, tier: &Tier);
    /// Calendars move on.
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

/// What a product of two counts is divided to, rounded up; never more than a u64 of µs.
pub(super) fn div_up(product: u128, by: u64) -> u64 {
    u64::try_from(product.div_ceil(u128::from(by.max(1)))).unwrap_or(u64::MAX)
}

pub(super) fn product(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}
