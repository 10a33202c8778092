//! Decides which problems and warnings a bucket has. The dashboard and `dripfeed top` have texts for each.

use dripfeed_bucket::{Census, RecentCalls};
use dripfeed_job::duration::ms_up;
use serde::{Serialize, Serializer};

/// A longer throttle is a warning.
const LONG_THROTTLE_MS: u64 = 5 * 60_000;
const NEARLY_FULL_PERCENT: u64 = 90;
/// Lower rates are shown as 0.
const MIN_REFUSED_PER_S: f64 = 0.005;
/// The minimum number of calls for judging whether calls fail.
const MIN_CALLS: u64 = 5;

/// A problem or a warning. Its index in [`Need::ALL`] is its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Need {
    DeadFull,
    OutboxFull,
    OutboxOversized,
    NoProcessor,
    Failing,
    Refusing,
    Paused,
    Throttled,
    DeadRising,
    NearlyFull,
    DeadLetters,
}

/// Serializes as indices in [`Need::ALL`].
pub(super) struct Indices<'n>(pub(super) &'n [Need]);

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Jobs or outcome jobs aren't delivered, or are refused.
    pub(super) problems: Vec<Need>,
    /// That may happen soon.
    pub(super) warnings: Vec<Need>,
}

impl Need {
    /// In the order of the enum.
    pub(crate) const ALL: [Self; 11] = [
        Self::DeadFull,
        Self::OutboxFull,
        Self::OutboxOversized,
        Self::NoProcessor,
        Self::Failing,
        Self::Refusing,
        Self::Paused,
        Self::Throttled,
        Self::DeadRising,
        Self::NearlyFull,
        Self::DeadLetters,
    ];
}

impl Serialize for Indices<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|need| *need as u8))
    }
}

impl Needs {
    pub(super) fn of(bucket: &Census) -> Self {
        let is_nearly_full =
            nearly_fills(bucket.level, bucket.capacity) || nearly_fills(bucket.bytes, bucket.capacity_bytes);
        let refuses = is_nearly_full && bucket.refused_per_s >= MIN_REFUSED_PER_S;
        let is_rising = bucket.dead > 0 && bucket.recent_dead > 0;
        let throttled_for = bucket.pace.throttled_for.map_or(0, ms_up);
        Self {
            problems: present(&[
                (Need::DeadFull, bucket.pace.reason == "dead_full"),
                (Need::OutboxFull, bucket.pace.reason == "outbox_full"),
                (Need::OutboxOversized, bucket.outbox_oversized > 0),
                (Need::NoProcessor, bucket.alive() == 0 && bucket.level > 0),
                (Need::Failing, fails(bucket)),
                (Need::Refusing, refuses),
            ]),
            warnings: present(&[
                (Need::Paused, bucket.paused && bucket.level > 0),
                (Need::Throttled, throttled_for > LONG_THROTTLE_MS),
                (Need::DeadRising, is_rising),
                (Need::NearlyFull, is_nearly_full && !refuses),
                (Need::DeadLetters, bucket.dead > 0 && !is_rising),
            ]),
        }
    }
}

/// Whether half or more of the calls fail, while calls are made.
fn fails(bucket: &Census) -> bool {
    let (recent, makes_calls) = (bucket.recent_calls, !matches!(bucket.pace.reason, "paused" | "held"));
    // After a repair the calls of this minute show it first.
    makes_calls && half_fail(recent) == Some(true) && half_fail(recent.of_this_minute()) != Some(false)
}

/// `None` for too few calls.
fn half_fail(calls: RecentCalls) -> Option<bool> {
    (calls.all() >= MIN_CALLS).then(|| calls.failed().saturating_mul(2) >= calls.all())
}

fn nearly_fills(part: u64, room: u64) -> bool {
    part.saturating_mul(100) >= room.saturating_mul(NEARLY_FULL_PERCENT)
}

fn present(all: &[(Need, bool)]) -> Vec<Need> {
    all.iter().filter(|(_, is_present)| *is_present).map(|(need, _)| *need).collect()
}

#[cfg(test)]
mod tests;
