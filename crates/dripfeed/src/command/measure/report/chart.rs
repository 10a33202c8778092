//! Draws counts and latencies over a window as SVG, with the figures of the whole window in the legends.

use dripfeed_job::{BucketName, duration};
use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, ChartContext, SeriesLabelPosition};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea as _};
use plotters::element::{Circle, PathElement, Rectangle};
use plotters::style::{Color as _, RGBColor, WHITE};
use serde_json::Value as Json;

use super::slots::Slots;

const SIZE: (u32, u32) = (1000, 640);
const HALF: u32 = 320;

type Area<'s> = DrawingArea<SVGBackend<'s>, Shift>;
type Chart<'a, 's> = ChartContext<'a, SVGBackend<'s>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Error = DrawingAreaErrorKind<std::io::Error>;

/// Name, JSON pointer in a slot, and colour. The colours differ for people with red-green colour blindness, too.
type Series = (&'static str, &'static str, RGBColor);
/// Name, points and colour.
type Drawn = (&'static str, Vec<(f64, f64)>, RGBColor);

const COUNTS: [Series; 4] = [
    ("accepted", "/accepted", RGBColor(156, 163, 175)),
    ("delivered", "/delivered", RGBColor(37, 99, 235)),
    ("refused", "/refused", RGBColor(217, 119, 6)),
    ("dead", "/dead", RGBColor(190, 24, 60)),
];

const LATENCIES: [Series; 3] = [
    ("p50", "/total_ms/p50", RGBColor(37, 99, 235)),
    ("p95", "/total_ms/p95", RGBColor(217, 119, 6)),
    ("p99", "/total_ms/p99", RGBColor(190, 24, 60)),
];

/// # Errors
/// When it can't be drawn, which is a bug.
pub(super) fn draw(bucket: &BucketName, window: &str, slots: &Slots<'_>, report: &Json) -> Result<String, Error> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let (above, below) = area.split_vertically(HALF);
        let each = duration::show(slots.slot_time());
        counts(&above, &format!("{bucket}, the last {window}: jobs in each {each}"), slots, &report["counts"])?;
        latencies(&below, "from acceptance to delivery, ms", slots, &report["latency_ms"])?;
        area.present()?;
    }
    Ok(svg)
}

/// Draws the bars of all series side by side in each slot.
fn counts(area: &Area<'_>, title: &str, slots: &Slots<'_>, sums: &Json) -> Result<(), Error> {
    let all = COUNTS.map(|series| drawn(series, slots));
    let mut chart = axes(area, title, slots, &all)?;
    let width = slots.slot() / 5.0;
    let mut offset = 0.0;
    for (name, points, colour) in &all {
        let bars = points
            .iter()
            .filter(|(_, count)| *count > 0.0)
            .map(|(at, count)| Rectangle::new([(at + offset, 0.0), (at + offset + width, *count)], colour.filled()));
        chart.draw_series(bars)?.label(label(name, sums)).legend(legend_mark(*colour));
        offset += width;
    }
    chart.configure_series_labels().position(SeriesLabelPosition::UpperLeft).background_style(WHITE).draw()?;
    Ok(())
}

fn latencies(area: &Area<'_>, title: &str, slots: &Slots<'_>, whole: &Json) -> Result<(), Error> {
    let all = LATENCIES.map(|series| drawn(series, slots));
    let mut chart = axes(area, title, slots, &all)?;
    for (name, points, colour) in &all {
        let line = PathElement::new(points.clone(), colour.stroke_width(2));
        chart.draw_series([line])?.label(label(name, whole)).legend(legend_mark(*colour));
        // A single point has no line.
        chart.draw_series(points.iter().map(|at| Circle::new(*at, 2, colour.filled())))?;
    }
    chart.configure_series_labels().position(SeriesLabelPosition::UpperLeft).background_style(WHITE).draw()?;
    Ok(())
}

fn drawn((name, pointer, colour): Series, slots: &Slots<'_>) -> Drawn {
    (name, slots.points(pointer), colour)
}

/// The name of a series, and its figure for the whole window if there is one.
fn label(name: &str, figures: &Json) -> String {
    figures[name].as_u64().map_or_else(|| name.to_owned(), |figure| format!("{name} {figure}"))
}

/// The axes: minutes, and values up to the highest one.
fn axes<'a, 's: 'a>(area: &'a Area<'s>, title: &str, slots: &Slots<'_>, all: &[Drawn]) -> Result<Chart<'a, 's>, Error> {
    let values = all.iter().flat_map(|(_, points, _)| points).map(|(_, value)| *value);
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 16))
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..slots.minutes(), 0.0..values.fold(1.0, f64::max) * 1.1)?;
    let from = format!("minutes since {}", slots.from());
    chart.configure_mesh().disable_x_mesh().x_desc(from).draw()?;
    Ok(chart)
}

fn legend_mark(colour: RGBColor) -> impl Fn((i32, i32)) -> Rectangle<(i32, i32)> {
    move |(x, y)| Rectangle::new([(x, y - 5), (x + 14, y + 5)], colour.filled())
}
