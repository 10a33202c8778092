//! Bar charts of figures, as SVG.

use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea as _};
use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::{Color as _, FontStyle, IntoFont as _, RGBColor};

use crate::figure::{Figure, count};
use crate::goals::Bound;

const PAPER: RGBColor = RGBColor(255, 255, 255);
const GRID: RGBColor = RGBColor(229, 231, 235);
const AXIS: RGBColor = RGBColor(156, 163, 175);
const INK: RGBColor = RGBColor(31, 41, 55);
/// Blue and amber, which colour-blind readers can distinguish.
const OURS: RGBColor = RGBColor(37, 99, 235);
const BASE: RGBColor = RGBColor(217, 119, 6);
const GOAL: RGBColor = RGBColor(190, 24, 60);

const WIDTH: u32 = 1000;
const HEAD: u32 = 44;
const ROW: u32 = 56;
const FOOT: u32 = 36;
const MARGIN: u32 = 24;
/// Longer bars are cut.
const LONGEST: f64 = 4.0;

type Area<'s> = DrawingArea<SVGBackend<'s>, Shift>;

/// One line of a chart: its text and its bars.
struct Line {
    text: String,
    bars: Vec<(f64, RGBColor)>,
}

/// Each figure as a part of its goal.
pub(super) fn goals(figures: &[Figure]) -> anyhow::Result<String> {
    let lines: Vec<Line> = figures.iter().filter_map(goal_line).collect();
    draw("parts of the goal: the longer the better, met from 1 on", &lines, Some(1.0))
}

fn goal_line(figure: &Figure) -> Option<Line> {
    let value = figure.value();
    let part = match figure.goal.bound {
        Bound::AtLeast(least) => value / least,
        Bound::AtMost(most) | Bound::Between(0.0, most) if most > 0.0 => most / value,
        _ => return None,
    };
    let colour = if part >= 1.0 { OURS } else { GOAL };
    let Figure { goal, .. } = figure;
    let text = format!("{}: {value:.2} ({}): {}", goal.what, figure.bound(), figure.verdict());
    Some(Line { text, bars: vec![(part.min(LONGEST), colour)] })
}

/// The rates per second, each above the one that it is compared with.
pub(super) fn rates(figures: &[Figure]) -> anyhow::Result<String> {
    let line = |figure: &Figure| {
        let (ours, base) = (figure.ours.median, figure.base.map(|base| base.median));
        let beside = base.map_or(String::new(), |rate| format!(", {} {rate:.0}", figure.goal.base));
        let bars = std::iter::once((ours, OURS)).chain(base.map(|rate| (rate, BASE))).collect();
        Line { text: format!("{}: {ours:.0}{beside}", figure.goal.what), bars }
    };
    let lines: Vec<Line> = figures.iter().filter(|figure| figure.goal.unit == "1/s").map(line).collect();
    draw("per second: blue is measured, amber what it is compared with", &lines, None)
}

/// `mark` is drawn across all lines.
fn draw(title: &str, lines: &[Line], mark: Option<f64>) -> anyhow::Result<String> {
    let mut svg = String::new();
    let height = HEAD + ROW * u32::try_from(lines.len().max(1))? + FOOT;
    let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
    // The backend's errors borrow `svg`, so they can't be returned.
    draw_on(&area, title, lines, mark).map_err(|error| anyhow::anyhow!("the chart can't be drawn: {error}"))?;
    drop(area);
    Ok(svg)
}

fn draw_on(area: &Area<'_>, title: &str, lines: &[Line], mark: Option<f64>) -> Result<(), Box<dyn std::error::Error>> {
    area.fill(&PAPER)?;
    let strong = ("sans-serif", 13).into_font().style(FontStyle::Bold).color(&INK);
    let small = ("sans-serif", 12).into_font().color(&INK);
    area.draw(&Text::new(title, (i32::try_from(MARGIN)?, 14), strong))?;
    let (_, below) = area.split_vertically(HEAD);
    let longest = lines.iter().flat_map(|line| &line.bars).map(|(length, _)| *length).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(&below)
        .margin_left(MARGIN)
        .margin_right(MARGIN)
        .x_label_area_size(FOOT)
        .build_cartesian_2d(0.0..longest * 1.05, 0.0..count(lines.len().max(1)))?;
    let mut mesh = chart.configure_mesh();
    mesh.disable_y_mesh().axis_style(AXIS).bold_line_style(GRID).light_line_style(PAPER).label_style(small.clone());
    mesh.x_max_light_lines(0).x_labels(10).y_labels(0).draw()?;
    for (at, line) in lines.iter().rev().enumerate() {
        let bottom = count(at);
        let thick = 0.5 / count(line.bars.len());
        for (number, (length, colour)) in line.bars.iter().rev().enumerate() {
            let low = bottom + 0.1 + thick * count(number);
            chart.draw_series([Rectangle::new([(0.0, low), (*length, low + thick * 0.9)], colour.filled())])?;
        }
        chart.draw_series([Text::new(line.text.clone(), (longest * 0.003, bottom + 0.92), small.clone())])?;
    }
    let marks = mark.map(|at| PathElement::new([(at, 0.0), (at, count(lines.len()))], GOAL.stroke_width(2)));
    chart.draw_series(marks)?;
    area.present()?;
    Ok(())
}
