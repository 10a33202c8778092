//! A bucket as a picture: what comes in at the top, the level in layers, what leaks below, what spills over.
//!
//! All drawings share the shapes of [`shapes`], which stand once in a page.

use maud::{Markup, html};

use crate::model::bucket::Row;
use crate::parts::numbers;

/// The inside of the bucket.
const TOP: f64 = 40.0;
const HEIGHT: f64 = 88.0;

/// Once in each page that draws buckets.
pub(crate) fn shapes() -> Markup {
    html! {
        svg.shapes width="0" height="0" aria-hidden="true" focusable="false" {
            defs {
                clipPath id="bucket" { path d="M22 40h96l-10 88H32z" {} }
                pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    rect width="6" height="6" {}
                    line x1="0" y1="0" x2="0" y2="6" {}
                }
            }
        }
    }
}

pub(crate) fn bucket(row: &Row) -> Markup {
    let [in_flight, waiting, parked] = layers(row);
    html! {
        svg.drawing viewBox="-4 0 160 176" role="img" aria-label=(label(row)) {
            (inflow(row))
            g clip-path="url(#bucket)" {
                rect.inside x="20" y=(TOP) width="100" height=(HEIGHT) {}
                (layer("in-flight", in_flight))
                (layer("waiting", waiting))
                (layer("parked", parked))
            }
            path.wall d="M22 40l10 88h76l10-88" {}
            path.rim d="M17 40h106" {}
            (spill(row))
            (outflow(row))
        }
    }
}

/// Of a layer: where it begins and how high it is, from the bottom up.
fn layers(row: &Row) -> [(f64, f64); 3] {
    let mut bottom = TOP + HEIGHT;
    let (mut used, mut before) = (0, 0.0);
    [row.in_flight, row.waiting, row.parked].map(|jobs| {
        used += jobs;
        let filled = share(used, row.capacity) * HEIGHT;
        let height = filled - before;
        before = filled;
        bottom -= height;
        (bottom, height)
    })
}

/// Whatever there is at all is seen.
#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn share(jobs: u64, capacity: u64) -> f64 {
    match jobs {
        0 => 0.0,
        _ => (jobs as f64 / capacity.max(1) as f64).clamp(0.05, 1.0),
    }
}

fn layer(class: &str, (top, height): (f64, f64)) -> Markup {
    html! { rect.layer.(class) x="20" width="100" y=(format!("{top:.1}")) height=(format!("{height:.1}")) {} }
}

fn inflow(row: &Row) -> Markup {
    html! {
        text.rate x="70" y="12" { (numbers::per_second(row.accepted_per_s)) " in" }
        g.drops.falls[flows(row.accepted_per_s)] { path d="M70 20v12" {} }
    }
}

fn outflow(row: &Row) -> Markup {
    html! {
        g.drops.falls[flows(row.settled_per_s)] { path d="M70 132v14" {} }
        text.rate x="70" y="164" { (numbers::per_second(row.settled_per_s)) " out" }
    }
}

/// Less is shown as 0.
fn flows(per_s: f64) -> bool {
    per_s >= 0.05
}

fn spill(row: &Row) -> Markup {
    let spills = flows(row.refused_per_s);
    html! {
        g.spill data-on=[spills.then_some("")] {
            path d="M17 42q-8 2-9 22M123 42q8 2 9 22" {}
            text x="140" y="80" { @if spills { (numbers::per_second(row.refused_per_s)) } }
            text x="140" y="92" { @if spills { "429" } }
        }
    }
}

fn label(row: &Row) -> String {
    format!(
        "{} of {} jobs: {} in flight, {} waiting, {} parked",
        row.level, row.capacity, row.in_flight, row.waiting, row.parked
    )
}
