//! The encoding of plans for the Lua rules: little-endian, without padding.

use crate::policy::calendar::Calendar;
use crate::policy::scope::digest;
use crate::policy::tier::{Align, Tier, TierKind};

/// The largest whole number that is exact in Lua.
const LARGEST: u64 = dripfeed_job::rate::MAX_EXACT_INTEGER - 1;

/// A buffer of packed numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed(Vec<u8>);

impl Packed {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// Appends the low `width` bytes of a number; one that is too large for Lua becomes the maximum.
    pub(crate) fn number(&mut self, number: u64, width: usize) -> &mut Self {
        self.0.extend_from_slice(&number.min(LARGEST).to_le_bytes()[..width]);
        self
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn limit_and_period(&mut self, tier: &Tier) -> &mut Self {
        self.number(tier.limit(), 7).number(tier.period_us(), 6)
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// The position of a tier's windows, which depends on scope and time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Phase {
    /// µs by which the windows of this scope are shifted.
    pub(crate) offset: u64,
    /// The starts of the calendar's current window and of the next two.
    pub(crate) borders: [u64; 3],
}

impl Phase {
    /// `spread` is the value of the scope that spreads the windows.
    pub(crate) fn of(tier: &Tier, spread: Option<&str>, now_us: u64) -> Self {
        let borders = calendar(tier).map_or([0; 3], |calendar| calendar.borders(now_us));
        let hash = |value: &str| {
            let [a, b, c, d, e, f, g, h, ..] = digest(value.as_bytes());
            u64::from_le_bytes([a, b, c, d, e, f, g, h])
        };
        Self { offset: spread.map_or(0, |value| hash(value) % tier.period_us()), borders }
    }
}

pub(crate) fn calendar(tier: &Tier) -> Option<&Calendar> {
    match tier.kind() {
        TierKind::Fixed(Align::Calendar(calendar)) => Some(calendar),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::time::Duration;

    use super::*;
    use crate::policy::scope::KeyPart;

    #[test]
    fn numbers_are_little_endian_and_never_more_than_lua_holds() {
        let mut packed = Packed::default();
        packed.number(0x01_02, 2).number(u64::MAX, 7);
        assert_eq!(packed.into_bytes(), [2, 1, 255, 255, 255, 255, 255, 255, 31]);
    }

    #[test]
    fn spread_windows_begin_at_different_times_and_always_at_the_same() {
        let align = Align::Epoch { spread: Some(KeyPart::Tenant) };
        let tier = Tier::fixed(1, Duration::from_mins(1), align).unwrap();
        let offset = |tenant| Phase::of(&tier, Some(tenant), 0).offset;
        assert_eq!(offset("acme"), offset("acme"));
        assert_ne!(offset("acme"), offset("globex"));
        assert!(offset("acme") < 60_000_000);
    }
}
