//! The fingerprint of tiers, which is part of their state in Redis, so that changed tiers are detected.

use crate::kinds;
use crate::policy::scope::digest;
use crate::policy::tier::Tier;
use crate::policy::wire::{Packed, Phase, calendar};

/// A hash of the tiers, the same in all processes.
pub(crate) fn fingerprint(tiers: &[Tier]) -> u32 {
    let mut packed = Packed::default();
    for each in tiers {
        kinds::pack(&mut packed, each, Phase::default());
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
    use crate::policy::calendar::{Calendar, Unit};
    use crate::policy::tier::Align;

    const SECOND: Duration = Duration::from_secs(1);

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
}
