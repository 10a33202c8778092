//! The first lines and the last line of every view.

use std::time::{Duration, Instant};

use dripfeed_dashboard::frame::{Row, numbers};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use super::cell;
use super::theme::Theme;
use crate::top::app::{App, Prompt, Sight};

/// Returns the intake or bucket that is shown, the time of the frame, and whether it is current.
pub(super) fn header(app: &App, theme: Theme, now: Instant, width: usize) -> Line<'static> {
    let (word, mood) = match app.sight(now) {
        Sight::Connecting => ("◌ connecting", "look"),
        Sight::Live => ("● live", "good"),
        Sight::Stale { .. } => ("◌ stale", "look"),
        Sight::Gone { .. } => ("✕ gone", "bad"),
        Sight::Forbidden { .. } => ("✕ forbidden", "bad"),
    };
    let title = "dripfeed top ";
    let room = width.saturating_sub(title.len() + word.chars().count() + 1);
    Line::from(vec![
        Span::styled(title, theme.strong()),
        Span::raw(cell::left(&about(app), room)),
        Span::raw(" "),
        Span::styled(word, theme.mood(mood)),
    ])
}

fn about(app: &App) -> String {
    let server = &app.server;
    let Some(latest) = &app.latest else { return format!("· {server}") };
    let at = latest.at.get(11..19).unwrap_or(&latest.at);
    match &app.opened {
        Some(opened) => format!("· {server} · {} · {at} UTC", opened.name),
        None => {
            let summary = &latest.summary;
            let buckets = numbers::pluralize(summary.buckets, "bucket", "buckets");
            let paused = if summary.paused > 0 { format!(", {} paused", summary.paused) } else { String::new() };
            format!("· {server} · {buckets}{paused} · {at} UTC")
        }
    }
}

/// Returns the sums over all buckets of the frame, or over those that the command line names.
pub(super) fn totals(app: &App, theme: Theme, width: usize) -> Line<'static> {
    let rows = || app.buckets.iter().filter_map(|bucket| bucket.row.as_ref());
    // The sum of no floats is -0.0; adding 0.0 makes it 0.
    let rate = |of: fn(&Row) -> f64| numbers::measured(rows().map(of).sum::<f64>() + 0.0);
    let sum = |of: fn(&Row) -> u64| rows().map(of).sum::<u64>();
    let text = format!(
        "{} of {} jobs · {} in · {} out · {} refused · {}",
        numbers::count(sum(|row| row.level)),
        numbers::count(sum(|row| row.capacity)),
        rate(|row| row.accepted_per_s),
        rate(|row| row.settled_per_s),
        rate(|row| row.refused_per_s),
        numbers::pluralize(sum(|row| row.dead), "dead letter", "dead letters"),
    );
    Line::styled(cell::cut(&text, width), theme.strong())
}

/// Why the numbers may be old.
pub(super) fn warning(sight: &Sight<'_>, theme: Theme) -> Option<Line<'static>> {
    let seconds = |time: &Duration| numbers::time(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    let (mood, text) = match sight {
        Sight::Connecting => ("look", "Waiting for the first frame.".to_owned()),
        Sight::Live => return None,
        Sight::Stale { since } => ("look", format!("No frame for {} s: what is below may be old.", since.as_secs())),
        Sight::Gone { why, retry_in } => ("bad", format!("Retrying in {}: {why}", seconds(retry_in))),
        Sight::Forbidden { why, retry_in } => {
            ("bad", format!("This key has no access any more, retrying in {}: {why}", seconds(retry_in)))
        }
    };
    Some(Line::styled(text, theme.mood(mood)))
}

/// Returns the prompt, the outcome of an action, or the keys.
pub(super) fn footer(app: &App, theme: Theme, width: usize) -> Line<'static> {
    match (&app.prompt, &app.note) {
        (Prompt::Filter, _) => Line::from(vec![Span::styled("/", theme.strong()), Span::raw(app.filter.clone() + "_")]),
        (Prompt::Confirm { bucket, pause: true }, _) => {
            Line::styled(format!("Pause {bucket}? No calls are made until it is resumed. y/n"), theme.strong())
        }
        (Prompt::Confirm { bucket, pause: false }, _) => {
            Line::styled(format!("Resume {bucket}? Its jobs are called again. y/n"), theme.strong())
        }
        (Prompt::Nothing, Some(note)) => {
            let style = if note.is_error { theme.mood("bad") } else { Style::new() };
            Line::styled(note.text.clone(), style)
        }
        (Prompt::Nothing, None) => Line::styled(keys(app, width), theme.faint()),
    }
}

/// The keys. If not all of them fit, the first ones are left out: the help has them.
fn keys(app: &App, width: usize) -> String {
    const BETWEEN: &str = "   ";
    let all = all_keys(app);
    let mut shown: Vec<&str> = all.split(BETWEEN).collect();
    while shown.len() > 1 && shown.join(BETWEEN).chars().count() > width {
        shown.remove(0);
    }
    shown.join(BETWEEN)
}

fn all_keys(app: &App) -> String {
    let look = match &app.opened {
        _ if app.shows_help => return "any key: back   q quit".to_owned(),
        Some(_) => "↑↓ scroll   Esc back",
        None => "↑↓ select   Enter open   / filter",
    };
    let pause = if app.installation.may_operate { "   p pause" } else { "" };
    format!("{look}{pause}   ? help   q quit")
}
