//! The drawing of a bucket: inflow at the top, level in layers, outflow below with what limits it, and overflow.
//!
//! All drawings share [`shapes`], which a page contains once. The start of a layer is an attribute that the style sheet
//! animates; all other geometry is the same in each drawing.

use maud::{Markup, html};

use crate::model::bucket::Row;
use crate::parts::leak::State;
use crate::parts::numbers;

/// The surface of a full bucket, and of an empty one.
const TOP: f64 = 56.0;
const HEIGHT: f64 = 96.0;
/// The lower edge of the round bottom.
const BELOW: f64 = 168.0;
/// Half the width of the bucket at its bottom, and by how much it is wider at the top.
const BOTTOM_RADIUS: f64 = 42.0;
const WIDENS: f64 = 14.0;

/// To be contained once in each page with drawings.
pub(crate) fn shapes() -> Markup {
    html! {
        svg.shapes width="0" height="0" aria-hidden="true" focusable="false" {
            defs {
                clipPath id="inside" { path d="M36 56a56 9 0 0 1 112 0l-14 96a42 7 0 0 1-84 0z" {} }
                pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    rect width="6" height="6" {}
                    line x1="0" y1="0" x2="0" y2="6" {}
                }
                g id="back" {
                    path.inside d="M36 56a56 9 0 0 1 112 0l-14 96a42 7 0 0 1-84 0z" {}
                    path.edge d="M36 56a56 9 0 0 1 112 0M50 152a42 7 0 0 1 84 0" {}
                }
                g id="front" {
                    path.glint d="M132 72l-9 70" {}
                    path.edge d="M39.5 80h8M43 104h8M46.5 128h8" {}
                    path.wall d="M36 56l14 96a42 7 0 0 0 84 0l14-96a56 9 0 0 1-112 0M85 159v8h14v-8" {}
                }
                path id="over" d="M148 57q14 2 14 26v100" {}
            }
        }
    }
}

pub(crate) fn bucket(row: &Row) -> Markup {
    let state = State::of(row);
    let surfaces = surfaces(row);
    let [top, ..] = surfaces;
    html! {
        svg.drawing viewBox="0 0 192 208" role="img" aria-label=(label(row, &state)) data-full[is_full(row)] {
            use href="#back" {}
            g clip-path="url(#inside)" { (layers(row, surfaces)) }
            (inflow(row, top))
            use href="#front" {}
            (mark(row, top))
            (spill(row))
            (outflow(row, &state))
        }
    }
}

fn is_full(row: &Row) -> bool {
    row.level >= row.capacity || row.refuses()
}

/// The surfaces of the layers from top to bottom: parked, waiting, in flight.
fn surfaces(row: &Row) -> [f64; 3] {
    let below_parked = row.in_flight + row.waiting;
    [below_parked + row.parked, below_parked, row.in_flight].map(|jobs| surface(jobs, row.capacity))
}

/// At least one job is always visible.
#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn surface(jobs: u64, capacity: u64) -> f64 {
    match jobs {
        0 => BELOW,
        _ => TOP + HEIGHT * (1.0 - (jobs as f64 / capacity.max(1) as f64).clamp(0.05, 1.0)),
    }
}

/// The layers from top to bottom, each drawn down to the bottom, so that a lower one covers those above. The ellipse at
/// the top of a layer has the colour of the layer above.
fn layers(row: &Row, [parked, waiting, in_flight]: [f64; 3]) -> Markup {
    let on_waiting = if row.parked > 0 { "parked" } else { "surface" };
    let on_in_flight = if row.waiting > 0 { "waiting" } else { on_waiting };
    html! {
        (layer("parked", parked, "surface"))
        (layer("waiting", waiting, on_waiting))
        (layer("in-flight", in_flight, on_in_flight))
    }
}

fn layer(name: &str, y: f64, above: &str) -> Markup {
    html! {
        rect.layer.(name) y=(short(y)) {}
        ellipse.(above) cy=(short(y)) rx=(short(radius(y))) {}
    }
}

fn radius(y: f64) -> f64 {
    BOTTOM_RADIUS + WIDENS * (TOP + HEIGHT - y) / HEIGHT
}

/// One decimal. Formatted from whole tenths, which takes a fraction of the time.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "all are below 200, and none below 0")]
fn short(number: f64) -> String {
    let tenths = (number * 10.0).round() as u32;
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// The percentage beside the surface.
fn mark(row: &Row, surface: f64) -> Markup {
    html! {
        svg.mark y=(short(surface - 8.0)) height="16" width="36" {
            @if row.level > 0 { text x="30" y="12" { (numbers::share(row.level, row.capacity)) } }
        }
    }
}

fn inflow(row: &Row, surface: f64) -> Markup {
    let flow = flow(row.accepted_per_s);
    html! {
        text.(flow) x="92" y="14" { (numbers::measured(row.accepted_per_s)) " in" }
        path.flow.(flow) d={ "M92 22V" (short(surface.min(TOP + HEIGHT))) } {}
        ellipse.ripple.(flow) cy=(short(surface)) {}
    }
}

fn outflow(row: &Row, state: &State) -> Markup {
    let flow = flow(row.settled_per_s);
    html! {
        path.flow.(flow) d="M92 168V188" {}
        @if let Some(glyph) = valve(state) {
            g.valve data-mood=(state.mood) { circle cx="92" cy="172" r="11" {} path d=(glyph) {} }
        }
        text.(flow) x="92" y="206" { (numbers::measured(row.settled_per_s)) " out" }
    }
}

/// A symbol for what keeps a bucket from leaking at its rate: two bars, a clock, an arrow down, an exclamation mark, or
/// a cross.
fn valve(state: &State) -> Option<&'static str> {
    match state.word {
        "paused" => Some("M89 168v8M95 168v8"),
        "throttled" | "quota used up" => Some("M92 166v6.5l4 2.5"),
        "slowed" => Some("M92 167v10m-4-4l4 4 4-4"),
        "failing" => Some("M92 166v7m0 5v.1"),
        "stopped" | "no processor" => Some("M88 168l8 8m0-8l-8 8"),
        _ => None,
    }
}

/// The class for the width of a stream. Rates that would be shown as 0 have none.
fn flow(per_s: f64) -> &'static str {
    match per_s {
        0.05..1.0 => "thin",
        1.0..10.0 => "some",
        10.0..100.0 => "much",
        100.0.. => "most",
        _ => "none",
    }
}

fn spill(row: &Row) -> Markup {
    let flow = flow(row.refused_per_s);
    html! {
        g.spill.(flow) {
            use href="#over" {}
            text x="168" y="28" { @if flow != "none" { (numbers::measured(row.refused_per_s)) } }
            text x="168" y="42" { @if flow != "none" { "refused" } }
        }
    }
}

fn label(row: &Row, state: &State) -> String {
    format!(
        "{}: {} of {} jobs: {} in flight, {} waiting, {} parked",
        state.word, row.level, row.capacity, row.in_flight, row.waiting, row.parked
    )
}
