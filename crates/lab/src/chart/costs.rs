//! Bars of figures, with their bounds.

use plotters::chart::ChartBuilder;
use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::Color as _;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::style::{self, HEAD, LegendSign, MARGIN};
use super::{Area, wrong};
use crate::error::LabError;
use crate::results::{Bound, Figure as _, Implementation, Row};

const ROW: u32 = 64;
const AXIS: u32 = 44;

pub(super) fn height(rows: &[Row]) -> u32 {
    HEAD + ROW * u32::try_from(rows.len()).unwrap_or(1) + AXIS
}

pub(super) fn draw(area: &Area<'_>, title: &str, unit: &str, rows: &[Row]) -> Result<(), LabError> {
    style::head(
        area,
        title,
        &[(LegendSign::Bar(style::colour(Implementation::Ours)), "dripfeed"), (LegendSign::Dashes, "the bound")],
    )?;
    let (_, below) = area.split_vertically(HEAD);
    let most = rows.iter().map(|row| row.ours().max(limit(row))).fold(1.0, f64::max);
    let count = u64::try_from(rows.len()).unwrap_or(1).figure();
    let mut chart = ChartBuilder::on(&below)
        .margin_left(MARGIN)
        .margin_right(MARGIN)
        .x_label_area_size(AXIS)
        .build_cartesian_2d(0.0..most * 1.1, 0.0..count)
        .map_err(wrong)?;
    let mut mesh = chart.configure_mesh();
    mesh.disable_y_mesh().axis_style(style::AXIS).bold_line_style(style::GRID).light_line_style(style::PAPER);
    mesh.label_style(style::small()).axis_desc_style(style::small()).x_labels(12).y_labels(0);
    mesh.x_label_formatter(&|cost| format!("{cost:.0}")).x_desc(unit).draw().map_err(wrong)?;
    for (at, row) in rows.iter().rev().enumerate() {
        let low = u64::try_from(at).unwrap_or(0).figure();
        let bar =
            Rectangle::new([(0.0, low + 0.15), (row.ours(), low + 0.55)], style::colour(Implementation::Ours).filled());
        chart.draw_series([bar]).map_err(wrong)?;
        let dash =
            |from| PathElement::new([(limit(row), from), (limit(row), from + 0.1)], style::BOUND.stroke_width(2));
        chart.draw_series([0.05, 0.22, 0.39, 0.56].map(|from| dash(low + from))).map_err(wrong)?;
        let [what, _, _, ours, bound, _] = row.cells();
        let style = style::strong().pos(Pos::new(HPos::Left, VPos::Center));
        let told = Text::new(format!("{what}: {ours} ({bound})"), (most * 0.003, low + 0.78), style);
        chart.draw_series([told]).map_err(wrong)?;
    }
    Ok(())
}

fn limit(row: &Row) -> f64 {
    match row.bound() {
        Bound::None => 0.0,
        Bound::AtMost(bound) | Bound::AtLeast(bound) | Bound::Exactly(bound) => bound,
    }
}
