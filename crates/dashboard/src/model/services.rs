//! Services and their rules.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
pub(crate) struct Service {
    pub(crate) name: String,
    /// By policy.
    pub(crate) verdicts: BTreeMap<String, Verdicts>,
}

/// The decisions of this intake since it started, or in a slot.
#[derive(Clone, Copy, Default, Deserialize)]
pub(crate) struct Verdicts {
    pub(crate) allowed: u64,
    pub(crate) refused: u64,
    pub(crate) shadow_refused: u64,
    pub(crate) unchecked: u64,
}

#[derive(Deserialize)]
pub(crate) struct Rules {
    pub(crate) policies: Vec<Value>,
}

/// More than the API returns.
const MOST_SLOTS: usize = 100;

/// The decisions of this intake in the last hour.
#[derive(Default, Deserialize)]
pub(crate) struct ServiceHistory {
    slot_ms: u64,
    from: Timestamp,
    to: Timestamp,
    /// By policy: the slots with decisions.
    pub(crate) policies: BTreeMap<String, Vec<DecidedSlot>>,
}

#[derive(Deserialize)]
pub(crate) struct DecidedSlot {
    at: Timestamp,
    #[serde(flatten)]
    pub(crate) verdicts: Verdicts,
}

impl ServiceHistory {
    /// The values of all slots of the hour, 0 for slots without decisions.
    #[expect(clippy::cast_precision_loss, reason = "a picture")]
    pub(crate) fn values(&self, slots: &[DecidedSlot], of: impl Fn(&Verdicts) -> u64) -> Vec<Option<f64>> {
        let mut values = vec![Some(0.0); (self.place(self.to) + 1).min(MOST_SLOTS)];
        for slot in slots {
            if let Some(value) = values.get_mut(self.place(slot.at)) {
                *value = Some(of(&slot.verdicts) as f64);
            }
        }
        values
    }

    fn place(&self, at: Timestamp) -> usize {
        let ms = u64::try_from(at.duration_since(self.from).as_millis()).unwrap_or(0);
        usize::try_from(ms / self.slot_ms.max(1)).unwrap_or(0)
    }
}
