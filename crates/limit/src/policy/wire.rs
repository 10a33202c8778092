//! Tiers as `rules/` reads them from a plan: little-endian, without padding.

use crate::policy::calendar::Calendar;
use crate::policy::scope::digest;
use crate::policy::tier::{Align, Tier, TierKind};

/// The largest whole number that Lua holds exactly.
const LARGEST: u64 = dripfeed_job::rate::EXACT - 1;

/// Bytes being written.
#[derive(Debug, Default)]
pub(crate) struct Packed(Vec<u8>);

impl Packed {
    /// The low `width` bytes; a number that Lua wouldn't hold becomes the largest that it does.
    pub(crate) fn number(&mut self, number: u64, width: usize) -> &mut Self {
        self.0.extend_from_slice(&number.min(LARGEST).to_le_bytes()[..width]);
        self
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// What a tier's windows depend on besides its settings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Phase {
    /// µs by which the windows of this scope are shifted.
    pub(crate) offset: u64,
    /// Where the calendar's window of now begins, and the next two.
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

fn calendar(tier: &Tier) -> Option<&Calendar> {
    match tier.kind() {
        TierKind::Fixed(Align::Calendar(calendar)) => Some(calendar),
        _ => None,
    }
}

/// The code of a kind's rule in Lua.
pub(crate) const fn code(kind: &TierKind) -> u8 {
    match kind {
        TierKind::Bucket { .. } | TierKind::Gate => 1,
        TierKind::Fixed(Align::Epoch { .. }) => 2,
        TierKind::Fixed(Align::First) => 3,
        TierKind::Fixed(Align::Calendar(_)) => 4,
        TierKind::Sliding => 5,
        TierKind::Log { .. } => 6,
        TierKind::Concurrent => 7,
        TierKind::Backlog => 8,
    }
}

pub(crate) fn tier(packed: &mut Packed, tier: &Tier, phase: Phase) {
    packed.number(code(tier.kind()).into(), 1);
    match tier.kind() {
        TierKind::Bucket { .. } | TierKind::Gate => {
            let (limit, unit) = tier.drain();
            packed.number(limit, 7).number(unit, 6).number(tier.most(), 7);
        }
        TierKind::Fixed(Align::Epoch { .. }) => {
            packed.number(tier.limit(), 7).number(tier.period_us(), 6).number(phase.offset, 6);
        }
        TierKind::Fixed(Align::Calendar(_)) => {
            packed.number(tier.limit(), 7).number(tier.period_us(), 6);
            for border in phase.borders {
                packed.number(border, 7);
            }
        }
        TierKind::Fixed(Align::First) | TierKind::Sliding | TierKind::Concurrent => {
            packed.number(tier.limit(), 7).number(tier.period_us(), 6);
        }
        TierKind::Log { min_gap_us, count_denied } => {
            packed.number(tier.limit(), 7).number(tier.period_us(), 6);
            packed.number(*min_gap_us, 6).number((*count_denied).into(), 1);
        }
        TierKind::Backlog => {
            packed.number(tier.limit(), 7);
        }
    }
}

/// Differs, as good as surely, between different lists of tiers; the same in all processes.
pub(crate) fn fingerprint(tiers: &[Tier]) -> u32 {
    let mut packed = Packed::default();
    for each in tiers {
        tier(&mut packed, each, Phase::default());
        if let Some(calendar) = calendar(each) {
            packed.bytes(format!("{:?}{}", calendar.unit(), calendar.zone()).as_bytes());
        }
    }
    let [a, b, c, d, ..] = digest(&packed.into_bytes());
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::time::Duration;

    use super::*;
    use crate::policy::calendar::Unit;
    use crate::policy::scope::KeyPart;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn numbers_are_little_endian_and_never_more_than_lua_holds() {
        let mut packed = Packed::default();
        packed.number(0x01_02, 2).number(u64::MAX, 7);
        assert_eq!(packed.into_bytes(), [2, 1, 255, 255, 255, 255, 255, 255, 31]);
    }

    #[test]
    fn other_tiers_have_another_fingerprint() {
        let bucket = |limit, burst| Tier::bucket(limit, SECOND, burst).unwrap();
        let zone = |zone| Tier::calendar(1, Calendar::new(Unit::Day, zone).unwrap()).unwrap();
        let lists = [
            vec![bucket(10, 10)],
            vec![bucket(10, 20)],
            vec![bucket(20, 20)],
            vec![bucket(10, 10), bucket(10, 10)],
            vec![Tier::fixed(10, SECOND, Align::First).unwrap()],
            vec![zone("UTC")],
            vec![zone("Europe/Berlin")],
        ];
        let prints: std::collections::HashSet<u32> = lists.iter().map(|tiers| fingerprint(tiers)).collect();
        assert_eq!(prints.len(), lists.len());
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
