//! The history of a bucket, slot by slot.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value as Json};

const COUNTS: [&str; 8] = ["accepted", "refused", "delivered", "dead", "expired", "cancelled", "calls", "retried"];

/// The slots of the API's response. Slots without traffic are missing.
pub(super) struct Slots<'h> {
    history: &'h Json,
}

impl<'h> Slots<'h> {
    pub(super) const fn of(history: &'h Json) -> Self {
        Self { history }
    }

    /// Returns the sums over all slots.
    pub(super) fn counts(&self) -> Map<String, Json> {
        let sum = |name: &str| self.all().iter().filter_map(|slot| slot[name].as_u64()).sum::<u64>();
        COUNTS.into_iter().map(|name| (name.to_owned(), sum(name).into())).collect()
    }

    /// Returns the length of the window in minutes.
    pub(super) fn minutes(&self) -> f64 {
        let (Some(from), Some(to)) = (time(&self.history["from"]), time(&self.history["to"])) else { return 1.0 };
        ((to - from) / 60.0).max(1.0)
    }

    /// Returns when the window begins.
    pub(super) fn from(&self) -> &'h str {
        self.history["from"].as_str().unwrap_or_default()
    }

    pub(super) fn slot_time(&self) -> Duration {
        Duration::from_millis(self.history["slot_ms"].as_u64().unwrap_or(60_000))
    }

    /// Returns the length of a slot in minutes.
    pub(super) fn slot(&self) -> f64 {
        self.slot_time().as_secs_f64() / 60.0
    }

    /// For each slot with the value: minutes since the start of the window, and the value.
    pub(super) fn points(&self, pointer: &str) -> Vec<(f64, f64)> {
        let from = time(&self.history["from"]).unwrap_or_default();
        let point = |slot: &Json| Some(((time(&slot["at"])? - from) / 60.0, slot.pointer(pointer)?.as_f64()?));
        self.all().iter().filter_map(point).collect()
    }

    fn all(&self) -> &[Json] {
        self.history["slots"].as_array().map_or(&[], Vec::as_slice)
    }
}

/// In seconds since the Unix epoch.
fn time(at: &Json) -> Option<f64> {
    Some(at.as_str()?.parse::<Timestamp>().ok()?.as_duration().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn slots_are_added_and_placed_in_their_window() {
        let history = json!({"from": "2026-01-01T00:00:00Z", "to": "2026-01-01T01:00:00Z", "slot_ms": 60_000, "slots": [
            {"at": "2026-01-01T00:01:00Z", "accepted": 3, "dead": 1, "total_ms": {"p95": 20}},
            {"at": "2026-01-01T00:30:00Z", "accepted": 4, "dead": 0, "total_ms": null},
        ]});
        let slots = Slots::of(&history);
        assert_eq!((slots.counts()["accepted"].as_u64(), slots.counts()["dead"].as_u64()), (Some(7), Some(1)));
        assert_eq!(slots.points("/accepted"), [(1.0, 3.0), (30.0, 4.0)]);
        assert_eq!(slots.points("/total_ms/p95"), [(1.0, 20.0)]);
        assert_eq!(slots.counts()["calls"].as_u64(), Some(0));
        assert!((slots.minutes() - 60.0).abs() < 1e-9 && (slots.slot() - 1.0).abs() < 1e-9);
    }
}
