//! The series of each chart.

use crate::model::history::{Gauges, History, Quantiles, Slot};
use crate::parts::numbers;

/// Classes of answers, from the bottom of the stack to its top.
pub(super) const ANSWERS: [&str; 6] = ["2xx", "3xx", "4xx", "429", "5xx", "none"];
const CLASSES: [&str; 6] = ["c2xx", "c3xx", "c4xx", "c429", "c5xx", "unanswered"];

/// Maximum number of series that are all named above a strip.
const MOST_NAMED: usize = 4;

pub(super) struct Strip {
    pub(super) title: &'static str,
    /// The first and the last column of the table with its numbers.
    pub(super) columns: (usize, usize),
    pub(super) unit: Unit,
    pub(super) series: Vec<Series>,
}

pub(super) struct Series {
    pub(super) name: &'static str,
    /// A class of the style sheet.
    pub(super) class: &'static str,
    pub(super) filled: bool,
    /// One value for each slot of the window, including the series below it in a stack. `None` if nothing was measured.
    pub(super) values: Vec<Option<f64>>,
    /// The highest value, without the series below it.
    pub(super) most: f64,
}

#[derive(Clone, Copy)]
pub(super) enum Unit {
    PerSecond,
    Jobs,
    Ms,
}

impl Unit {
    pub(super) const fn is_rate(self) -> bool {
        matches!(self, Self::PerSecond)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole numbers, not negative")]
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::PerSecond => numbers::per_second(value),
            Self::Jobs => numbers::count(value as u64),
            Self::Ms => numbers::latency(value as u64),
        }
    }
}

impl Strip {
    /// All series if there are few, otherwise those with values above 0.
    pub(super) fn named(&self) -> impl Iterator<Item = &Series> {
        let all = self.series.len() <= MOST_NAMED;
        self.series.iter().filter(move |series| all || series.most > 0.0)
    }

    /// The highest value of all series.
    pub(super) fn top(&self) -> f64 {
        highest(self.series.iter().flat_map(|series| series.values.iter().flatten().copied()))
    }
}

pub(super) fn strips(history: &History) -> Vec<Strip> {
    let slots = Slots::of(history);
    let strip = |title, columns, unit, series| Strip { title, columns, unit, series };
    let flows =
        vec![slots.flow("accepted", "a", |slot| slot.accepted), slots.flow("refused", "b", |slot| slot.refused)];
    let calls = vec![slots.flow("calls", "a", |slot| slot.calls), slots.ceiling()];
    vec![
        level(history),
        strip("Submissions", (1, 2), Unit::PerSecond, flows),
        strip("Calls", (12, 13), Unit::PerSecond, calls),
        strip("Answers", (14, 19), Unit::PerSecond, slots.answers()),
        strip("Waiting time", (20, 22), Unit::Ms, slots.quantiles(|slot| slot.wait_ms)),
        strip("Attempt", (23, 25), Unit::Ms, slots.quantiles(|slot| slot.attempt_ms)),
        strip("Total time", (26, 28), Unit::Ms, slots.quantiles(|slot| slot.total_ms)),
    ]
}

/// The jobs by state, then the capacity.
pub(super) fn level(history: &History) -> Strip {
    let series = Slots::of(history).levels();
    Strip { title: "Level", columns: (8, 11), unit: Unit::Jobs, series }
}

/// All slots of a window; `None` for slots without events.
struct Slots<'h> {
    history: &'h History,
    slots: Vec<Option<&'h Slot>>,
}

impl<'h> Slots<'h> {
    fn of(history: &'h History) -> Self {
        let mut slots = vec![None; history.count()];
        for slot in &history.slots {
            if let Some(place) = slots.get_mut(history.place(slot)) {
                *place = Some(slot);
            }
        }
        Self { history, slots }
    }

    /// Events per second.
    fn flow(&self, name: &'static str, class: &'static str, count: impl Fn(&Slot) -> u64) -> Series {
        let per_second = |slot: &Slot| as_float(count(slot)) / self.history.seconds(slot);
        line(name, class, self.slots.iter().map(|slot| Some(slot.map_or(0.0, per_second))).collect())
    }

    /// A stack, the top series first, because the others are drawn over it.
    fn levels(&self) -> Vec<Series> {
        let (in_flight, waiting) = (self.jobs(|gauges| gauges.in_flight), self.jobs(|gauges| gauges.waiting));
        let mut series = stacked(vec![
            line("in flight", "in-flight", in_flight),
            line("waiting", "waiting", waiting),
            line("parked", "parked", self.jobs(|gauges| gauges.parked)),
        ]);
        series.push(line("capacity", "ceiling", self.jobs(|gauges| gauges.capacity)));
        series
    }

    fn jobs(&self, jobs: impl Fn(&Gauges) -> u64) -> Vec<Option<f64>> {
        self.gauges(|gauges| Some(as_float(jobs(gauges))))
    }

    fn ceiling(&self) -> Series {
        line("rate in force", "ceiling", self.gauges(|gauges| gauges.effective_per_s))
    }

    /// Gauges of all slots. In slots without events they are unchanged.
    fn gauges(&self, value: impl Fn(&Gauges) -> Option<f64>) -> Vec<Option<f64>> {
        let mut before = self.history.before.as_ref().and_then(&value);
        let values = self.slots.iter().map(|slot| {
            before = slot.map_or(before, |slot| value(&slot.gauges));
            before
        });
        values.collect()
    }

    fn quantiles(&self, of: impl Fn(&Slot) -> Option<Quantiles>) -> Vec<Series> {
        let series = |name, value: fn(Quantiles) -> u64| {
            let values = self.slots.iter().map(|slot| slot.and_then(&of).map(|quantiles| as_float(value(quantiles))));
            line(name, name, values.collect())
        };
        vec![series("p50", |of| of.p50), series("p95", |of| of.p95), series("p99", |of| of.p99)]
    }

    fn answers(&self) -> Vec<Series> {
        let of_class = |(name, class): (&'static str, &'static str)| {
            self.flow(name, class, |slot| slot.answers.get(name).copied().unwrap_or(0))
        };
        stacked(ANSWERS.into_iter().zip(CLASSES).map(of_class).collect())
    }
}

fn line(name: &'static str, class: &'static str, values: Vec<Option<f64>>) -> Series {
    Series { name, class, filled: false, most: highest(values.iter().flatten().copied()), values }
}

/// Stacks series from the bottom to the top. Returns them in reverse order, for drawing.
fn stacked(mut series: Vec<Series>) -> Vec<Series> {
    let mut below: Vec<f64> = Vec::new();
    for each in &mut series {
        below.resize(each.values.len(), 0.0);
        for (value, below) in each.values.iter_mut().zip(&mut below) {
            *below += value.unwrap_or(0.0);
            *value = value.map(|_| *below);
        }
        each.filled = true;
    }
    series.reverse();
    series
}

pub(super) fn highest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn as_float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use serde_json::json;

    use super::*;

    fn history() -> History {
        let slot = |at: &str, waiting: u64| {
            json!({"at": at, "accepted": 10, "refused": 0, "delivered": 1, "retried": 0, "dead": 0, "expired": 0,
                "cancelled": 0, "waiting": waiting, "in_flight": 1, "parked": 2, "capacity": 9, "effective_per_s": 4.0,
                "calls": 5, "answers": {"2xx": 4, "429": 1}, "wait_ms": {"p50": 1, "p95": 2, "p99": 3},
                "attempt_ms": null, "total_ms": null})
        };
        let slots = [slot("2030-01-01T00:00:05Z", 3), slot("2030-01-01T00:00:15Z", 0)];
        serde_json::from_value(
            json!({"slot_ms": 5000, "from": "2030-01-01T00:00:00Z", "to": "2030-01-01T00:00:17Z", "slots": slots}),
        )
        .unwrap()
    }

    #[test]
    fn what_was_in_a_bucket_before_anything_happened_in_the_window_is_drawn() {
        let mut history = history();
        let gauges = json!({ "waiting": 7, "in_flight": 1, "parked": 0, "capacity": 9, "effective_per_s": 0.0 });
        history.before = serde_json::from_value(gauges).unwrap();
        assert_eq!(level(&history).series[0].values, [Some(8.0), Some(6.0), Some(6.0), Some(3.0)]);
        history.slots.clear();
        let [level, calls] = [0, 2].map(|which| strips(&history).swap_remove(which));
        assert_eq!((&level.series[1].values[..], level.top()), (&[Some(8.0); 4][..], 9.0));
        assert_eq!(calls.series[1].values, [Some(0.0); 4]);
    }

    #[test]
    fn each_strip_has_a_value_for_each_slot() {
        let strips = strips(&history());
        assert!(strips.iter().flat_map(|strip| &strip.series).all(|series| series.values.len() == 4));
        // The last slot has been going on for 2 s.
        assert_eq!(strips[0].series[0].values, [None, Some(6.0), Some(6.0), Some(3.0)]);
        assert_eq!(strips[1].series[0].values, [Some(0.0), Some(2.0), Some(0.0), Some(5.0)]);
        assert_eq!(strips[2].series[1].values, [None, Some(4.0), Some(4.0), Some(4.0)]);
        assert_eq!(strips[3].series[0].values, [Some(0.0), Some(1.0), Some(0.0), Some(2.5)]);
        assert_eq!(strips[3].series[5].values, [Some(0.0), Some(0.8), Some(0.0), Some(2.0)]);
        assert_eq!(strips[4].series[2].values, [None, Some(3.0), None, Some(3.0)]);
        assert_eq!((strips[0].top(), strips[5].top()), (9.0, 0.0));
        let most: Vec<_> = strips[0].series.iter().map(|series| (series.name, series.most)).collect();
        assert_eq!(most, [("parked", 2.0), ("waiting", 3.0), ("in flight", 1.0), ("capacity", 9.0)]);
    }
}
