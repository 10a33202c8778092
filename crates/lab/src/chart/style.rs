//! Colours and fonts, title and legend of a chart.

use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, FontStyle, IntoFont as _, RGBColor, TextStyle};

use super::{Area, wrong};
use crate::error::LabError;
use crate::results::Implementation;

pub(super) const PAPER: RGBColor = RGBColor(255, 255, 255);
pub(super) const GRID: RGBColor = RGBColor(229, 231, 235);
pub(super) const AXIS: RGBColor = RGBColor(156, 163, 175);
const INK: RGBColor = RGBColor(31, 41, 55);
const PALE_INK: RGBColor = RGBColor(90, 98, 112);
/// Amber and blue, which are distinct also with red-green colour blindness.
const PUBLISHED: RGBColor = RGBColor(217, 119, 6);
const OURS: RGBColor = RGBColor(37, 99, 235);
pub(super) const BOUND: RGBColor = RGBColor(190, 24, 60);

/// The margin at the left and right.
pub(super) const MARGIN: i32 = 24;
/// The approximate width of a letter of the legend.
const LETTER: i32 = 6;
/// The height of title and legend.
pub(super) const HEAD: u32 = 74;

pub(super) fn colour(whose: Implementation) -> RGBColor {
    match whose {
        Implementation::Published => PUBLISHED,
        Implementation::Ours => OURS,
    }
}

pub(super) fn small() -> TextStyle<'static> {
    ("sans-serif", 12).into_font().color(&PALE_INK)
}

pub(super) fn plain() -> TextStyle<'static> {
    ("sans-serif", 13).into_font().color(&INK)
}

pub(super) fn strong() -> TextStyle<'static> {
    ("sans-serif", 13).into_font().style(FontStyle::Bold).color(&INK)
}

pub(super) fn small_at_the_right() -> TextStyle<'static> {
    small().pos(Pos::new(HPos::Right, VPos::Top))
}

/// The symbol of a legend entry.
pub(super) enum LegendSign {
    Bar(RGBColor),
    Dashes,
}

/// Draws the title, and below it the legend.
pub(super) fn head(area: &Area<'_>, title: &str, legend: &[(LegendSign, &str)]) -> Result<(), LabError> {
    let bold = ("sans-serif", 18).into_font().style(FontStyle::Bold).color(&INK);
    area.draw(&Text::new(title.to_owned(), (MARGIN, 14), bold)).map_err(wrong)?;
    let mut x = MARGIN;
    for (sign, what) in legend {
        draw_sign(area, sign, (x, 50))?;
        area.draw(&Text::new((*what).to_owned(), (x + 26, 44), plain())).map_err(wrong)?;
        x += 26 + LETTER * i32::try_from(what.chars().count()).unwrap_or(0) + 20;
    }
    Ok(())
}

fn draw_sign(area: &Area<'_>, sign: &LegendSign, (x, y): (i32, i32)) -> Result<(), LabError> {
    match sign {
        LegendSign::Bar(colour) => area.draw(&Rectangle::new([(x, y - 6), (x + 18, y + 6)], colour.filled())),
        LegendSign::Dashes => {
            for dash in [x, x + 10] {
                area.draw(&PathElement::new([(dash, y), (dash + 7, y)], BOUND.stroke_width(2))).map_err(wrong)?;
            }
            Ok(())
        }
    }
    .map_err(wrong)
}
