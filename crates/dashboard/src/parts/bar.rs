//! A progress bar.

use maud::{Markup, html};

use crate::model::bucket::Row;
use crate::parts::numbers;

/// The level of a bucket by state of its jobs.
pub(crate) fn level(row: &Row) -> Markup {
    let full = numbers::share(row.level, row.capacity);
    let layers = [("in-flight", row.in_flight), ("waiting", row.waiting), ("parked", row.parked)];
    drawn(&format!("full: {full}"), &layers, row.capacity)
}

/// A bar whose parts have the names of classes.
pub(crate) fn drawn(label: &str, parts: &[(&str, u64)], whole: u64) -> Markup {
    let begins = parts.iter().scan(0, |end, (_, part)| Some(std::mem::replace(end, *end + part)));
    html! {
        svg.bar viewBox="0 0 100 1" preserveAspectRatio="none" role="img" aria-label=(label) {
            title { (label) }
            @for ((name, part), begin) in parts.iter().zip(begins) {
                rect.(name) x=(of_hundred(begin, whole)) width=(of_hundred(*part, whole)) height="1" {}
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn of_hundred(part: u64, whole: u64) -> String {
    format!("{:.1}", part as f64 * 100.0 / whole.max(1) as f64)
}
