//! What needs attention, and the remedies.

use dripfeed_dashboard::frame::{Notice, counts, sort, title};
use ratatui_core::text::{Line, Span};

use super::cell;
use super::theme::Theme;
use crate::top::app::App;

/// How and where lines are drawn.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) theme: Theme,
    pub(super) width: usize,
    /// The maximum number of lines; `None`: unlimited.
    pub(super) most: Option<usize>,
    /// Whether the numbers are current. Only then "All clear" is shown.
    pub(super) is_live: bool,
}

/// Returns the number of problems and warnings, including those of buckets that aren't shown, and then the notices.
pub(super) fn of_all(app: &App, place: Place) -> Vec<Line<'static>> {
    let (problems, warnings) = app.attention();
    if problems + warnings == 0 {
        return all_clear(place);
    }
    let (shape, mood) = if problems > 0 { ("■", "bad") } else { ("◆", "look") };
    let text = format!("{shape} {}", title(problems, warnings));
    let mut lines = vec![Line::styled(text, place.theme.mood(mood).patch(place.theme.strong()))];
    let notices = app.notices();
    if !notices.is_empty() {
        let most = place.most.map(|most| most.saturating_sub(1));
        lines.extend(listed(notices, problems + warnings, Place { most, ..place }));
    }
    lines
}

/// Returns the notices, the worst first, or "All clear".
pub(super) fn lines(notices: Vec<Notice>, place: Place) -> Vec<Line<'static>> {
    let (problems, warnings) = counts(&notices);
    if notices.is_empty() { all_clear(place) } else { listed(notices, problems + warnings, place) }
}

fn all_clear(Place { theme, is_live, .. }: Place) -> Vec<Line<'static>> {
    let well = Line::styled("✓ All clear: nothing needs attention.", theme.mood("good"));
    if is_live { vec![well] } else { Vec::new() }
}

/// As many notices as there is room for, and how many of `all` are left out.
fn listed(mut notices: Vec<Notice>, all: u64, place: Place) -> Vec<Line<'static>> {
    let Place { theme, width, most, .. } = place;
    sort(&mut notices);
    let (mut lines, mut left) = (Vec::new(), all);
    for notice in &notices {
        let more = notice_lines(notice, theme, width);
        // A line is reserved for how many more there are.
        let reserved = usize::from(left > 1);
        if most.is_some_and(|most| lines.len() + more.len() + reserved > most) {
            break;
        }
        lines.extend(more);
        left = left.saturating_sub(1);
    }
    // If no notice is listed, the line above says how many there are.
    if left > 0 && left < all {
        lines.push(Line::styled(format!("  and {left} more"), theme.faint()));
    }
    lines
}

/// The remedy follows on the same line if it fits, else it has a separate one.
fn notice_lines(notice: &Notice, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let Notice { mood, subject, what, what_to_do, .. } = notice;
    let shape = Span::styled(if *mood == "bad" { "■ " } else { "◆ " }, theme.mood(mood));
    let room = width.saturating_sub(2);
    let what = format!("{subject}: {what}");
    let to_do = if what_to_do.is_empty() { String::new() } else { format!(" → {what_to_do}") };
    if what.chars().count() + to_do.chars().count() <= room {
        return vec![Line::from(vec![shape, Span::raw(what + &to_do)])];
    }
    let mut whats = cell::wrapped(&what, room).into_iter();
    let first = Line::from(vec![shape, Span::raw(whats.next().unwrap_or_default())]);
    let to_do = (!to_do.is_empty()).then(|| cell::cut(&format!("  {to_do}"), width));
    let others = whats.map(|what| format!("  {what}")).chain(to_do).map(Line::from);
    std::iter::once(first).chain(others).collect()
}
