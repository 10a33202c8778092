//! A time series as the API returns it.

use std::collections::BTreeMap;

use dripfeed_bucket::{AnswerClass, History, HistorySlot, Quantiles};
use dripfeed_job::BucketName;
use dripfeed_job::duration::ms_up;
use serde::Serialize;
use utoipa::ToSchema;

use crate::request::time;

#[derive(Serialize, ToSchema)]
#[schema(as = History)]
pub(crate) struct ShownHistory {
    #[schema(value_type = String)]
    bucket: BucketName,
    /// `5m`, `1h` or `24h`.
    window: &'static str,
    /// The length of a slot.
    slot_ms: u64,
    /// Start of the first slot of the window.
    from: String,
    /// Now, by the clock of Redis.
    to: String,
    /// At `from`, until the first slot: of the last slot before the window. Null: not known.
    #[schema(required)]
    before: Option<ShownGauges>,
    slots: Vec<ShownSlot>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = HistoryGauges)]
struct ShownGauges {
    waiting: u64,
    in_flight: u64,
    parked: u64,
    capacity: u64,
    /// Null: no rate is set.
    #[schema(required)]
    target_per_s: Option<f64>,
    #[schema(required)]
    effective_per_s: Option<f64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = HistorySlot)]
struct ShownSlot {
    /// Start of the slot.
    at: String,
    accepted: u64,
    refused: u64,
    delivered: u64,
    /// Attempts that failed and were followed by another.
    retried: u64,
    dead: u64,
    expired: u64,
    cancelled: u64,
    /// At the end of the slot, as the level and the rates.
    waiting: u64,
    in_flight: u64,
    parked: u64,
    capacity: u64,
    /// Null: no rate is set.
    #[schema(required)]
    target_per_s: Option<f64>,
    /// Less than the target while the rate is reduced; 0 while the bucket is paused or throttled, or stopped because
    /// its dead letters or its outbox are full.
    #[schema(required)]
    effective_per_s: Option<f64>,
    /// Calls that ended.
    calls: u64,
    /// Calls by status: `2xx`, `3xx`, `4xx` (without 429), `429`, `5xx`, `none`.
    answers: BTreeMap<&'static str, u64>,
    /// From acceptance to the call; null, as for the following two, if nothing was measured.
    #[schema(required)]
    wait_ms: Option<ShownQuantiles>,
    /// Duration of a call.
    #[schema(required)]
    attempt_ms: Option<ShownQuantiles>,
    /// From acceptance to delivery.
    #[schema(required)]
    total_ms: Option<ShownQuantiles>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Quantiles)]
struct ShownQuantiles {
    p50: u64,
    p95: u64,
    p99: u64,
}

impl ShownHistory {
    pub(super) fn of(bucket: &BucketName, history: History) -> Self {
        Self {
            bucket: bucket.clone(),
            window: history.window.as_str(),
            slot_ms: ms_up(history.window.slot()),
            from: time::show(history.from_ms),
            to: time::show(history.to_ms),
            before: history.before.map(ShownGauges::from),
            slots: history.slots.into_iter().map(ShownSlot::from).collect(),
        }
    }
}

impl From<HistorySlot> for ShownGauges {
    fn from(slot: HistorySlot) -> Self {
        let HistorySlot { waiting, in_flight, parked, capacity, target_per_s, effective_per_s, .. } = slot;
        Self { waiting, in_flight, parked, capacity, target_per_s, effective_per_s }
    }
}

impl From<HistorySlot> for ShownSlot {
    fn from(slot: HistorySlot) -> Self {
        Self {
            at: time::show(slot.at_ms),
            accepted: slot.accepted,
            refused: slot.refused,
            delivered: slot.delivered,
            retried: slot.retried,
            dead: slot.dead,
            expired: slot.expired,
            cancelled: slot.cancelled,
            waiting: slot.waiting,
            in_flight: slot.in_flight,
            parked: slot.parked,
            capacity: slot.capacity,
            target_per_s: slot.target_per_s,
            effective_per_s: slot.effective_per_s,
            calls: slot.answers.iter().sum(),
            answers: AnswerClass::ALL.map(AnswerClass::as_str).into_iter().zip(slot.answers).collect(),
            wait_ms: slot.wait.map(ShownQuantiles::from),
            attempt_ms: slot.attempt.map(ShownQuantiles::from),
            total_ms: slot.total.map(ShownQuantiles::from),
        }
    }
}

impl From<Quantiles> for ShownQuantiles {
    fn from(Quantiles { p50, p95, p99 }: Quantiles) -> Self {
        Self { p50, p95, p99 }
    }
}
