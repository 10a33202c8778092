//! Renders lines of text, for the screen and for `--once`.

mod bucket;
mod cell;
mod frame;
mod help;
mod level_bar;
mod list;
mod notices;
mod numbers;
mod sparkline;
mod theme;

use std::time::Instant;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use super::app::{App, Sight};

use self::notices::Place;
pub(super) use self::theme::Theme;

/// Draws the whole terminal.
pub(super) fn screen(app: &App, theme: Theme, now: Instant, area: Rect, buffer: &mut Buffer) {
    let lines = whole(app, theme, now, area.width.into(), area.height.into());
    for (y, line) in (area.top()..area.bottom()).zip(&lines) {
        buffer.set_line(area.left(), y, line, area.width);
    }
}

/// Renders all buckets, in any number of lines.
pub(super) fn text(app: &App, theme: Theme, now: Instant, width: usize) -> Vec<String> {
    let mut lines = vec![frame::header(app, theme, now, width)];
    let place = Place { theme, width, most: None, is_live: true };
    lines.extend(list::lines(app, place));
    lines.iter().map(ToString::to_string).collect()
}

/// As many lines as the terminal is high: the body gets those that the header, the warning and the footer leave.
fn whole(app: &App, theme: Theme, now: Instant, width: usize, height: usize) -> Vec<Line<'static>> {
    let sight = app.sight(now);
    let mut lines = vec![frame::header(app, theme, now, width)];
    lines.extend(frame::warning(&sight, theme));
    let room = height.saturating_sub(lines.len() + 1);
    let is_live = sight == Sight::Live;
    let mut body = body(app, Place { theme, width, most: Some(room), is_live });
    body.resize(room, Line::default());
    // Numbers that may be old are dimmed.
    let faded = !is_live && !app.shows_help;
    lines.extend(body.into_iter().map(|line| if faded { line.patch_style(theme.faint()) } else { line }));
    lines.push(frame::footer(app, theme, width));
    lines
}

fn body(app: &App, place: Place) -> Vec<Line<'static>> {
    if app.shows_help {
        return help::lines(app.installation.may_operate, place.theme);
    }
    if app.latest.is_none() {
        return Vec::new();
    }
    let Some(opened) = &app.opened else { return list::lines(app, place) };
    let lines = bucket::lines(app, opened, place);
    let scrolled = opened.scrolled.min(lines.len().saturating_sub(place.most.unwrap_or(usize::MAX)));
    lines.into_iter().skip(scrolled).collect()
}
