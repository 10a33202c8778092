//! Decisions of the last hour, by minute.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::decide::counts::VerdictCounts;
use crate::policy::PolicyId;

const MINUTE_MS: u64 = 60_000;
const KEPT_MINUTES: u64 = 60;

/// A minute since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Minute(u64);

/// The decisions of a service's policies in the last hour, by minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerdictHistory {
    /// The start of the first minute, in ms since 1970.
    pub from_ms: u64,
    /// Now, in ms since 1970. The last minute is incomplete.
    pub to_ms: u64,
    /// The minutes with decisions of each policy, oldest first, for at most 20 policies.
    pub policies: BTreeMap<PolicyId, Vec<VerdictSlot>>,
}

/// The counts of a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerdictSlot {
    /// The start of the minute, in ms since 1970.
    pub at_ms: u64,
    pub counts: VerdictCounts,
}

impl VerdictHistory {
    /// The length of a slot.
    pub const SLOT: Duration = Duration::from_millis(MINUTE_MS);

    pub(crate) const fn new(now_us: u64, policies: BTreeMap<PolicyId, Vec<VerdictSlot>>) -> Self {
        Self { from_ms: Minute::of_us(now_us).first().begin_ms(), to_ms: now_us / 1000, policies }
    }
}

impl Minute {
    pub(crate) const fn of_us(us: u64) -> Self {
        Self(us / 1000 / MINUTE_MS)
    }

    const fn begin_ms(self) -> u64 {
        self.0.saturating_mul(MINUTE_MS)
    }

    /// The first minute of the hour that ends with this one.
    const fn first(self) -> Self {
        Self(self.0.saturating_sub(KEPT_MINUTES - 1))
    }
}

/// The minutes of the last hour in which one policy decided, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Minutes(VecDeque<(Minute, VerdictCounts)>);

impl Minutes {
    /// Counts decisions. If the clock was set back, they count for the latest minute.
    pub(crate) fn count(&mut self, minute: Minute, counts: VerdictCounts) {
        match self.0.back_mut() {
            Some((latest, counted)) if *latest >= minute => *counted += counts,
            _ => {
                while self.0.front().is_some_and(|(oldest, _)| *oldest < minute.first()) {
                    self.0.pop_front();
                }
                self.0.push_back((minute, counts));
            }
        }
    }

    pub(crate) fn until(&self, now: Minute) -> Vec<VerdictSlot> {
        let within = self.0.iter().filter(|(minute, _)| (now.first()..=now).contains(minute));
        within.map(|&(minute, counts)| VerdictSlot { at_ms: minute.begin_ms(), counts }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: VerdictCounts = VerdictCounts { allowed: 1, refused: 0, shadow_refused: 0, unchecked: 0 };

    fn counted(minutes: &[u64]) -> Minutes {
        let mut counted = Minutes::default();
        for minute in minutes {
            counted.count(Minute(*minute), ONE);
        }
        counted
    }

    fn seen(minutes: &Minutes, now: u64) -> Vec<(u64, u64)> {
        minutes.until(Minute(now)).iter().map(|slot| (slot.at_ms / MINUTE_MS, slot.counts.allowed)).collect()
    }

    #[test]
    fn an_hour_is_kept_and_no_minute_more() {
        let minutes = counted(&(1000..1200).flat_map(|minute| [minute, minute]).collect::<Vec<_>>());
        assert_eq!(minutes.0.len(), 60);
        assert_eq!(seen(&minutes, 1199), (1140..1200).map(|minute| (minute, 2)).collect::<Vec<_>>());
        assert_eq!(seen(&minutes, 1258), [(1199, 2)]);
        assert!(seen(&minutes, 1259).is_empty());
    }

    #[test]
    fn a_clock_that_is_set_back_makes_no_minutes_out_of_order() {
        let minutes = counted(&[1000, 990, 1001, 1000]);
        assert_eq!(seen(&minutes, 1001), [(1000, 2), (1001, 2)]);
    }
}
