//! The data of the charts as a table: one row per slot with events.

use maud::{Markup, html};

use super::series::ANSWERS;
use crate::model::history::{History, Quantiles, Slot};
use crate::parts::{listing, numbers, when};

/// Strips refer to columns by index (series.rs).
const COUNTS: [&str; 13] = [
    "#accepted",
    "#refused",
    "#delivered",
    "#retried",
    "#dead",
    "#expired",
    "#cancelled",
    "#waiting",
    "#in flight",
    "#parked",
    "#capacity",
    "#calls",
    "#rate in force",
];
const LATENCIES: [&str; 9] = [
    "#wait p50",
    "#wait p95",
    "#wait p99",
    "#attempt p50",
    "#attempt p95",
    "#attempt p99",
    "#total p50",
    "#total p95",
    "#total p99",
];

pub(super) fn of(history: &History) -> Markup {
    let answers = ANSWERS.map(|class| format!("#{class}"));
    let answers = answers.iter().map(String::as_str);
    let columns: Vec<&str> = std::iter::once("from").chain(COUNTS).chain(answers).chain(LATENCIES).collect();
    html! {
        @if history.slots.is_empty() { p.faint { "No jobs, calls or refusals in this window." } }
        @else {
            div.scroll tabindex="0" role="region" aria-label="History" { table {
                (listing::head(&columns))
                tbody { @for slot in history.slots.iter().rev() { (row(history, slot)) } }
            } }
        }
    }
}

fn row(history: &History, slot: &Slot) -> Markup {
    let gauges = &slot.gauges;
    let (seven, five) = (
        [slot.accepted, slot.refused, slot.delivered, slot.retried, slot.dead, slot.expired, slot.cancelled],
        [gauges.waiting, gauges.in_flight, gauges.parked, gauges.capacity, slot.calls],
    );
    html! {
        tr data-slot=(history.place(slot)) {
            th scope="row" { (when::clock(slot.at)) }
            @for count in seven.into_iter().chain(five) { td.number { (numbers::count(count)) } }
            td.number { (gauges.effective_per_s.map_or_else(|| "–".to_owned(), numbers::per_second)) }
            @for class in ANSWERS { td.number { (numbers::count(slot.answers.get(class).copied().unwrap_or(0))) } }
            @for quantiles in [slot.wait_ms, slot.attempt_ms, slot.total_ms] { (latencies(quantiles)) }
        }
    }
}

fn latencies(quantiles: Option<Quantiles>) -> Markup {
    let shown = quantiles.map(|of| [of.p50, of.p95, of.p99].map(numbers::latency));
    html! { @for text in shown.unwrap_or_else(|| [(); 3].map(|()| "–".to_owned())) { td.number { (text) } } }
}
