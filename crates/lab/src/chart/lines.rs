//! Allowed calls per 100 ms: a panel for each approach, with a common time axis.

use std::time::Duration;

use plotters::chart::ChartBuilder;
use plotters::element::{Rectangle, Text};
use plotters::series::DashedLineSeries;
use plotters::style::Color as _;

use super::style::{self, HEAD, LegendSign, MARGIN};
use super::{Area, wrong};
use crate::error::LabError;
use crate::results::{ApproachLine, Figure as _, Implementation};

const BIN: Duration = Duration::from_millis(100);
const BIN_S: f64 = 0.1;
const PANEL: u32 = 132;
const AXIS: u32 = 40;
const CAPTION: u32 = 24;

pub(super) fn height(lines: &[ApproachLine]) -> u32 {
    HEAD + PANEL * u32::try_from(lines.len()).unwrap_or(1) + AXIS
}

pub(super) fn draw(area: &Area<'_>, title: &str, lines: &[ApproachLine], load: Duration) -> Result<(), LabError> {
    let legend = [
        (LegendSign::Bar(style::colour(Implementation::Published)), "the published approach, run here"),
        (LegendSign::Bar(style::colour(Implementation::Ours)), "dripfeed"),
        (LegendSign::Dashes, "the limit, if it were used evenly"),
    ];
    style::head(area, title, &legend)?;
    let bins: Vec<Vec<u64>> = lines.iter().map(binned).collect();
    let seconds = bins.iter().map(Vec::len).max().unwrap_or(1).max(1);
    let seconds = (u64::try_from(seconds).unwrap_or(1).figure() * BIN_S).max(load.as_secs_f64());
    let (_, panels) = area.split_vertically(HEAD);
    let mut rest = panels;
    for (at, (line, bins)) in lines.iter().zip(&bins).enumerate() {
        let is_last = at + 1 == lines.len();
        let (panel, below) = rest.split_vertically(if is_last { PANEL + AXIS } else { PANEL });
        draw_panel(&panel, line, bins, seconds, is_last)?;
        rest = below;
    }
    Ok(())
}

fn binned(line: &ApproachLine) -> Vec<u64> {
    line.passes.first().map(|first| line.passes.per(BIN, first)).unwrap_or_default()
}

fn draw_panel(
    panel: &Area<'_>,
    line: &ApproachLine,
    bins: &[u64],
    seconds: f64,
    is_last: bool,
) -> Result<(), LabError> {
    let allowed = line.allowed_per_s * BIN_S;
    let most = bins.iter().copied().max().unwrap_or(0).figure();
    caption(panel, line, most)?;
    let mut chart = ChartBuilder::on(panel)
        .margin_left(MARGIN)
        .margin_right(MARGIN)
        .margin_top(CAPTION)
        .y_label_area_size(52)
        .x_label_area_size(if is_last { AXIS } else { 6 })
        .build_cartesian_2d(0.0..seconds, 0.0..most.max(allowed) * 1.08)
        .map_err(wrong)?;
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh().axis_style(style::AXIS).bold_line_style(style::GRID).light_line_style(style::PAPER);
    mesh.label_style(style::small()).axis_desc_style(style::small());
    mesh.y_labels(4).y_label_formatter(&|calls| format!("{calls:.0}")).y_desc("calls / 100 ms");
    mesh.x_labels(if is_last { 15 } else { 0 }).x_label_formatter(&|at| format!("{}", (at * 10.0).round() / 10.0));
    if is_last {
        mesh.x_desc("seconds since the first call");
    }
    mesh.draw().map_err(wrong)?;
    let colour = style::colour(line.whose);
    let bars = bins.iter().enumerate().filter(|(_, calls)| **calls > 0).map(|(at, calls)| {
        let begin = u64::try_from(at).unwrap_or(0).figure() * BIN_S;
        Rectangle::new([(begin, 0.0), (begin + BIN_S * 0.88, calls.figure())], colour.filled())
    });
    chart.draw_series(bars).map_err(wrong)?;
    let even = [(0.0, allowed), (seconds, allowed)];
    chart.draw_series(DashedLineSeries::new(even, 7, 4, style::BOUND.stroke_width(2))).map_err(wrong)?;
    Ok(())
}

fn caption(panel: &Area<'_>, line: &ApproachLine, most: f64) -> Result<(), LabError> {
    panel.draw(&Text::new(line.label.to_owned(), (MARGIN + 52, 4), style::strong())).map_err(wrong)?;
    let (width, _) = panel.dim_in_pixel();
    let at = i32::try_from(width).unwrap_or(0) - MARGIN;
    let calls = line.passes.count();
    let noun = if calls == 1 { "call" } else { "calls" };
    let published = line.published.map(|published| format!("published: {published} · here: ")).unwrap_or_default();
    let told = format!("{published}{calls} {noun}, at most {most:.0} in 100 ms");
    panel.draw(&Text::new(told, (at, 4), style::small_at_the_right())).map_err(wrong)
}
