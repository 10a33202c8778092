//! The charts of a bucket over one time axis, without JavaScript, and the same data as a table.

mod path;
mod series;
mod table;

use maud::{Markup, html};

use self::path::{HEIGHT, WIDTH};
use self::series::{Series, Strip};
use crate::model::history::History;
use crate::parts::{numbers, when};
use crate::web::api::escaped;

/// The windows of the API, with their names.
pub(crate) const WINDOWS: [(&str, &str); 3] = [("5m", "5 min"), ("1h", "1 h"), ("24h", "24 h")];

pub(crate) fn of(bucket: &str, window: &str, history: &History) -> Markup {
    let slot = numbers::time(history.slot_ms);
    html! {
        section.history.card #history data-window=(window) aria-labelledby="history-title"
            data-source={ "/buckets/" (escaped(bucket)) "/history?window=" (window) } data-slot-ms=(history.slot_ms) {
            div.toolbar {
                h2 #history-title { "History" }
                nav.chips aria-label="How far back" {
                    @for (other, name) in WINDOWS {
                        a href={ "/buckets/" (escaped(bucket)) "?window=" (other) "#history" }
                            aria-current=[(other == window).then_some("page")] { (name) }
                    }
                }
            }
            div.strips { @for strip in series::strips(history) { (figure(&strip)) } }
            p.axis {
                (when::clock(history.from))
                input.moment type="range" min="0" max=(history.count() - 1) value=(history.count() - 1)
                    aria-label="Moment that is shown" hidden;
                (when::clock(history.to))
            }
            details.as-table {
                summary { "As a table, by slots of " (slot) }
                (table::of(history))
            }
        }
    }
}

fn figure(strip: &Strip) -> Markup {
    let top = strip.top();
    html! {
        figure.strip data-columns={ (strip.columns.0) " " (strip.columns.1) } data-per-second[strip.unit.is_rate()] {
            figcaption {
                strong { (strip.title) } " "
                @for series in strip.named() { span.key { span.line.(series.class) {} (series.name) } " " }
                span.most { @if top > 0.0 { "max " (strip.unit.show(top)) } @else { "none" } }
            }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img"
                aria-label=(label(strip)) {
                @for series in &strip.series { path.(series.class) d=(drawn(series, top)) {} }
                path.cursor d="" {}
            }
            p.readout {}
        }
    }
}

fn drawn(series: &Series, top: f64) -> String {
    let line = path::steps(&series.values, top);
    if series.filled { path::closed(&line) } else { line }
}

/// The highest value of each series, for screen readers.
fn label(strip: &Strip) -> String {
    let measured = strip.series.iter().filter(|series| series.values.iter().any(Option::is_some));
    let most = measured.map(|series| format!("{} up to {}", series.name, strip.unit.show(series.most)));
    let most = most.collect::<Vec<_>>().join(", ");
    format!("{}: {}", strip.title, if most.is_empty() { "none" } else { &most })
}

/// A small chart of the level without labels, shown beside the number.
pub(crate) fn sparkline(history: &History) -> Markup {
    let level = series::level(history);
    html! {
        svg.sparkline viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" aria-hidden="true" {
            @if let Some(all) = level.series.first() { path d=(drawn(all, level.top())) {} }
        }
    }
}

/// A line of a small chart.
pub(crate) struct Line<'v> {
    /// A class of the style sheet.
    pub(crate) class: &'static str,
    pub(crate) values: &'v [Option<f64>],
}

/// A small chart of several lines with one scale and without labels, shown beside a text.
pub(crate) fn lines(lines: &[Line<'_>]) -> Markup {
    let top = series::highest(lines.iter().flat_map(|line| line.values.iter().flatten().copied()));
    html! {
        svg.lines viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" aria-hidden="true" {
            @for line in lines { path.(line.class) d=(path::steps(line.values, top)) {} }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::series::Unit;
    use super::{Series, Strip, label};

    #[test]
    fn a_strip_without_a_measurement_has_no_highest() {
        let strip = |values: Vec<Option<f64>>| {
            let series = Series { name: "p50", class: "p50", filled: false, values, most: 0.0 };
            label(&Strip { title: "Attempt", columns: (0, 0), unit: Unit::Ms, series: vec![series] })
        };
        assert_eq!(strip(vec![None, None]), "Attempt: none");
        assert_eq!(strip(vec![None, Some(0.0)]), "Attempt: p50 up to 1 ms");
    }
}
