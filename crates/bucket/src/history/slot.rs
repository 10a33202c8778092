//! A slot of the history, as `slots.lua` writes it and as the API returns it.

use crate::history::call_stats::AnswerClass;
use crate::history::latency_sketch::{LatencySketch, Quantiles};
use crate::history::window::HistoryWindow;

/// A slot of a time series, which begins at `at_ms`.
#[derive(Clone, Debug, PartialEq)]
pub struct HistorySlot {
    /// ms since the epoch.
    pub at_ms: u64,
    pub accepted: u64,
    pub refused: u64,
    pub delivered: u64,
    pub dead: u64,
    pub expired: u64,
    pub cancelled: u64,
    /// Attempts that failed and were followed by another.
    pub retried: u64,
    /// Calls by class of answer, in the order of [`AnswerClass::ALL`].
    pub answers: [u64; AnswerClass::ALL.len()],
    /// At the last sample, like the further levels and rates.
    pub waiting: u64,
    pub in_flight: u64,
    pub parked: u64,
    pub capacity: u64,
    /// `None` if no rate is set.
    pub target_per_s: Option<f64>,
    /// The effective rate: reduced, or 0 while the bucket is paused or throttled, or its dead letters or its outbox are
    /// full.
    pub effective_per_s: Option<f64>,
    /// From acceptance to the call. `None`, also in the next two fields, if nothing was measured.
    pub wait: Option<Quantiles>,
    /// The duration of a call.
    pub attempt: Option<Quantiles>,
    /// From acceptance to delivery.
    pub total: Option<Quantiles>,
}

/// How many counts, gauges and sketches a slot has behind its own number (slots.lua).
const COUNTS: usize = 13;
const GAUGES: usize = 6;
const SKETCHES: usize = 3;

/// The numbers of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Numbers {
    /// The number of the slot: slots of its length since the epoch.
    number: u64,
    counts: [u64; COUNTS],
    gauges: [u64; GAUGES],
}

/// A slot to which samples may still be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenSlot {
    numbers: Numbers,
    sketches: [LatencySketch; SKETCHES],
}

impl Numbers {
    fn read(text: &str) -> Option<Self> {
        let numbers: Vec<u64> = text.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
        let (number, numbers) = numbers.split_first()?;
        let (counts, gauges) = numbers.split_at_checked(COUNTS)?;
        Some(Self { number: *number, counts: counts.try_into().ok()?, gauges: gauges.try_into().ok()? })
    }
}

/// Splits a slot into its numbers and the texts of its sketches or percentiles.
fn parts(text: &str) -> Option<(Numbers, [&str; SKETCHES])> {
    let mut parts = text.split('|');
    let numbers = Numbers::read(parts.next()?)?;
    let rest = [parts.next()?, parts.next()?, parts.next()?];
    Some((numbers, rest))
}

impl OpenSlot {
    /// Returns `None` if the text isn't a slot, because it was written by hand.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (numbers, rest) = parts(text)?;
        Some(Self { numbers, sketches: rest.map(LatencySketch::read) })
    }

    /// Returns the number of the slot in `coarser` in which this slot of `window` begins.
    pub(crate) const fn number_in(&self, window: HistoryWindow, coarser: HistoryWindow) -> u64 {
        self.numbers.number.saturating_mul(window.slot_s()) / coarser.slot_s()
    }

    /// Adds a later slot.
    pub(crate) fn add(&mut self, later: &Self) {
        let counts = self.numbers.counts.iter_mut().zip(later.numbers.counts);
        counts.for_each(|(count, more)| *count = count.saturating_add(more));
        self.numbers.gauges = later.numbers.gauges;
        self.sketches.iter_mut().zip(&later.sketches).for_each(|(sketch, more)| sketch.merge(more));
    }

    pub(crate) fn shown(&self, number: u64, window: HistoryWindow) -> HistorySlot {
        let quantiles = self.sketches.each_ref().map(LatencySketch::quantiles);
        shown(&Numbers { number, ..self.numbers.clone() }, quantiles, window)
    }
}

/// Reads a closed slot, and its number. Returns `None` if the text isn't a slot, because it was written by hand.
pub(crate) fn read_closed(text: &str, window: HistoryWindow) -> Option<(u64, HistorySlot)> {
    let (numbers, rest) = parts(text)?;
    Some((numbers.number, shown(&numbers, rest.map(quantiles), window)))
}

/// Returns the number of an open or closed slot, its new dead letters, and its answers. `numbers`: the slot's text
/// without sketches.
pub(crate) fn events_of(numbers: &str) -> Option<(u64, u64, [u64; AnswerClass::ALL.len()])> {
    let Numbers { number, counts: [_, _, _, dead, _, _, _, answers @ ..], .. } = Numbers::read(numbers)?;
    Some((number, dead, answers))
}

/// Reads the percentiles of a closed slot, which are written as ranges.
fn quantiles(text: &str) -> Option<Quantiles> {
    let ranges: Vec<usize> = text.split(' ').map(str::parse).collect::<Result<_, _>>().ok()?;
    ranges.try_into().ok().map(Quantiles::of_ranges)
}

fn shown(numbers: &Numbers, [wait, attempt, total]: [Option<Quantiles>; 3], window: HistoryWindow) -> HistorySlot {
    let [accepted, refused, delivered, dead, expired, cancelled, retried, answers @ ..] = numbers.counts;
    let [waiting, in_flight, parked, capacity, target, effective] = numbers.gauges;
    let rate = |thousandths| (target > 0).then(|| per_second(thousandths));
    HistorySlot {
        at_ms: numbers.number.saturating_mul(window.slot_s()).saturating_mul(1000),
        accepted,
        refused,
        delivered,
        dead,
        expired,
        cancelled,
        retried,
        answers,
        waiting,
        in_flight,
        parked,
        capacity,
        target_per_s: rate(target),
        effective_per_s: rate(effective),
        wait,
        attempt,
        total,
    }
}

#[expect(clippy::cast_precision_loss, reason = "rates stay far below 2^53")]
fn per_second(thousandths: u64) -> f64 {
    thousandths as f64 / 1000.0
}

#[cfg(test)]
mod tests;
