//! How long a state has a meaning.

use crate::policy::consistency::Consistency;
use crate::policy::policy_settings::PolicySettings;
use crate::policy::tier::{Align, Tier, TierKind};

/// More than a zone has ever put its clocks back for summer time.
const PUT_BACK_US: u64 = 3 * 3_600 * 1_000_000;

/// In ms. From used up to all left, in the tier that takes longest; as much again for what was counted beyond the
/// limit; and a little for a clock that was put back. And an eighth more, in which it needn't be set again (scope.lua).
pub(super) fn keep_ms(settings: &PolicySettings, tiers: &[Tier]) -> u64 {
    let longest = tiers.iter().map(longest_refill_us).max().unwrap_or(0);
    let shortest = tiers.iter().map(Tier::refill_us).min().unwrap_or(0);
    let beyond = if matches!(settings.consistency, Consistency::Async { .. }) { longest } else { 0 };
    let needed = (longest + beyond + shortest).div_ceil(1_000) + 1;
    needed + needed.div_ceil(8)
}

/// Days and months in which clocks are put back are longer than others.
fn longest_refill_us(tier: &Tier) -> u64 {
    match tier.kind() {
        TierKind::Fixed(Align::Calendar(_)) => tier.refill_us() + PUT_BACK_US,
        _ => tier.refill_us(),
    }
}
