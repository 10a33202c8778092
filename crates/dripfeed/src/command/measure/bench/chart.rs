//! Draws latency percentiles as SVG, on a logarithmic axis: each further nine has the same width. Above them are the
//! figures of the table, so that the chart can be read without it.

use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::drawing::{DrawingAreaErrorKind, IntoDrawingArea as _};
use plotters::series::LineSeries;
use plotters::style::{Color as _, RGBColor, WHITE};
use serde_json::Value as Json;

use super::tally::Tally;

const SIZE: (u32, u32) = (900, 420);
const BLUE: RGBColor = RGBColor(37, 99, 235);
/// The highest percentile shown is 99.99.
const NINES: f64 = 4.0;
const STEPS: u32 = 200;

/// # Errors
/// When it can't be drawn, which is a bug.
pub(super) fn draw(title: &str, tally: &Tally) -> Result<String, DrawingAreaErrorKind<std::io::Error>> {
    let points: Vec<(f64, f64)> = (0..=STEPS)
        .map(|step| f64::from(step) / f64::from(STEPS) * NINES)
        .filter_map(|nines| Some((nines, tally.percentile(percent(nines))?)))
        .collect();
    let max_ms = points.iter().map(|(_, ms)| *ms).fold(0.001, f64::max) * 1.1;
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let title = format!("{title}: latency from when a submission was due, ms");
        let below = area.titled(&title, ("sans-serif", 16))?.titled(&figures(&tally.document()), ("sans-serif", 13))?;
        let mut chart = ChartBuilder::on(&below)
            .margin(16)
            .x_label_area_size(36)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..NINES, 0.0..max_ms)?;
        let label = |nines: &f64| format!("{}", percent(*nines));
        chart.configure_mesh().x_labels(5).x_label_formatter(&label).x_desc("percentile").draw()?;
        chart.draw_series(LineSeries::new(points, BLUE.stroke_width(2)))?;
        area.present()?;
    }
    Ok(svg)
}

fn figures(result: &Json) -> String {
    let counts = ["due", "accepted", "refused", "failed", "unanswered"].map(|name| format!("{} {name}", result[name]));
    let latency = &result["latency_ms"];
    let percentiles = [("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("p99.9", "p99_9"), ("max", "max")]
        .map(|(shown, name)| format!("{shown} {}", latency[name]));
    let latency = if latency.is_null() { String::new() } else { format!("; {} ms", percentiles.join(", ")) };
    counts.join(", ") + &latency
}

/// Returns 0, 90, 99, 99.9 and 99.99 for 0 to 4 nines.
fn percent(nines: f64) -> f64 {
    ((100.0 - 100.0 / 10_f64.powf(nines)) * 1e6).round() / 1e6
}
