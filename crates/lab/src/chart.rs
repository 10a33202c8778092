//! The chart of an experiment, as SVG.

mod costs;
mod lines;
mod style;

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea as _};

use crate::error::LabError;
use crate::results::{ChartData, Results};

type Area<'s> = DrawingArea<SVGBackend<'s>, Shift>;

const WIDTH: u32 = 1000;

impl Results {
    /// Returns the chart of an experiment with this title, as the text of an SVG file.
    ///
    /// # Errors
    /// When it can't be drawn, which is a bug.
    pub(crate) fn chart(&self, title: &str) -> Result<String, LabError> {
        match &self.shown {
            ChartData::Lines { lines, load } => {
                drawn(lines::height(lines), |area| lines::draw(area, title, lines, *load))
            }
            ChartData::Costs { unit, rows } => drawn(costs::height(rows), |area| costs::draw(area, title, unit, rows)),
        }
    }
}

fn drawn(height: u32, draw: impl FnOnce(&Area<'_>) -> Result<(), LabError>) -> Result<String, LabError> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        area.fill(&style::PAPER).map_err(wrong)?;
        draw(&area)?;
        area.present().map_err(wrong)?;
    }
    Ok(svg)
}

fn wrong(error: impl std::fmt::Display) -> LabError {
    LabError::Chart(error.to_string())
}

#[cfg(test)]
mod tests;
