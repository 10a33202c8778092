//! How long the state of a policy must be kept in Redis.

use crate::policy::consistency::Consistency;
use crate::policy::policy_settings::PolicySettings;
use crate::policy::tier::{Align, Tier, TierKind};

/// More than any time zone has ever set its clocks back.
const PUT_BACK_US: u64 = 3 * 3_600 * 1_000_000;

/// The time to live of a state in ms: the longest refill of its tiers; as much again for calls counted beyond the
/// limit; a little for a clock that was set back; and an eighth more, in which it isn't renewed (scope.lua).
pub(super) fn keep_ms(settings: &PolicySettings, tiers: &[Tier]) -> u64 {
    let longest = tiers.iter().map(longest_refill_us).max().unwrap_or(0);
    let shortest = tiers.iter().map(Tier::refill_us).min().unwrap_or(0);
    let beyond = if matches!(settings.consistency, Consistency::Async { .. }) { longest } else { 0 };
    let needed = (longest + beyond + shortest).div_ceil(1_000) + 1;
    needed + needed.div_ceil(8)
}

/// Windows of a calendar are longer if clocks are set back meanwhile.
fn longest_refill_us(tier: &Tier) -> u64 {
    match tier.kind() {
        TierKind::Fixed(Align::Calendar(_)) => tier.refill_us() + PUT_BACK_US,
        _ => tier.refill_us(),
    }
}
