//! Time series of a bucket.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

use super::bucket::Row;

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct History {
    pub(crate) slot_ms: u64,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
    /// The gauges at `from`. `None` if unknown; an intake of an earlier version doesn't send them.
    #[serde(default)]
    pub(crate) before: Option<Gauges>,
    /// The slots with events.
    pub(crate) slots: Vec<Slot>,
}

/// The gauges of a bucket at one time.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Gauges {
    pub(crate) waiting: u64,
    pub(crate) in_flight: u64,
    pub(crate) parked: u64,
    pub(crate) capacity: u64,
    pub(crate) effective_per_s: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Slot {
    pub(crate) at: Timestamp,
    pub(crate) accepted: u64,
    pub(crate) refused: u64,
    pub(crate) delivered: u64,
    pub(crate) retried: u64,
    pub(crate) dead: u64,
    pub(crate) expired: u64,
    pub(crate) cancelled: u64,
    #[serde(flatten)]
    pub(crate) gauges: Gauges,
    pub(crate) calls: u64,
    pub(crate) answers: BTreeMap<String, u64>,
    pub(crate) wait_ms: Option<Quantiles>,
    pub(crate) attempt_ms: Option<Quantiles>,
    pub(crate) total_ms: Option<Quantiles>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Quantiles {
    pub(crate) p50: u64,
    pub(crate) p95: u64,
    pub(crate) p99: u64,
}

impl History {
    /// Whether there is no history, because nothing has happened for long.
    pub(crate) fn is_unknown(&self) -> bool {
        self.slots.is_empty() && self.before.is_none()
    }

    /// Adds the current gauges if there is no history.
    pub(crate) fn or_now(mut self, now: &Row) -> Self {
        if self.is_unknown() {
            let &Row { waiting, in_flight, parked, capacity, .. } = now;
            self.before = Some(Gauges { waiting, in_flight, parked, capacity, effective_per_s: None });
        }
        self
    }

    /// The number of slots in the window, including the incomplete one.
    pub(crate) fn count(&self) -> usize {
        usize::try_from(self.ms_from_begin(self.to) / self.slot_ms.max(1)).unwrap_or(0) + 1
    }

    /// The index of a slot in the window.
    pub(crate) fn place(&self, slot: &Slot) -> usize {
        usize::try_from(self.ms_from_begin(slot.at) / self.slot_ms.max(1)).unwrap_or(0)
    }

    /// The length of a slot, which is shorter for the incomplete one.
    pub(crate) fn seconds(&self, slot: &Slot) -> f64 {
        let ms = self.to.duration_since(slot.at).as_millis().clamp(1000, i128::from(self.slot_ms.max(1000)));
        std::time::Duration::from_millis(u64::try_from(ms).unwrap_or(1000)).as_secs_f64()
    }

    fn ms_from_begin(&self, at: Timestamp) -> u64 {
        u64::try_from(at.duration_since(self.from).as_millis()).unwrap_or(0)
    }
}
