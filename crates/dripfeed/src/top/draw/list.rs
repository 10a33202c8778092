//! The list of buckets: what needs attention first, then a row for each.

mod columns;

use dripfeed_dashboard::frame::{Row, empties, numbers};
use ratatui_core::text::Line;

use self::columns::Columns;
use super::notices::{self, Place};
use super::{cell, frame};
use crate::top::app::App;
use crate::top::shown_bucket::ShownBucket;

/// The notices get at most this fraction of the lines: a third.
const SHARE_OF_NOTICES: usize = 3;

/// Renders the list for a height of `place.most` lines.
pub(super) fn lines(app: &App, place: Place) -> Vec<Line<'static>> {
    let Place { theme, width, most: room, .. } = place;
    let mut lines = notices::of_all(app, Place { most: room.map(|room| room / SHARE_OF_NOTICES), ..place });
    if let Some(nothing) = nothing(app) {
        if app.attention() == (0, 0) {
            lines.clear();
        }
        lines.push(Line::styled(nothing, theme.faint()));
        return lines;
    }
    lines.extend(app.unknown().iter().map(|name| Line::from(format!("✕ {name}: no such bucket for this key"))));
    lines.push(frame::totals(app, theme, width));
    let columns = Columns::of(width);
    lines.push(columns.head(theme));
    let room = room.map(|room| room.saturating_sub(lines.len()));
    lines.extend(rows(app, &columns, Place { most: room, ..place }));
    lines
}

fn nothing(app: &App) -> Option<String> {
    let latest = app.latest.as_ref()?;
    let many = latest.summary.buckets;
    match (app.buckets.is_empty(), many) {
        (true, 0) => Some("No bucket is configured, or your key is for none.".to_owned()),
        (true, _) if app.unknown().is_empty() => {
            Some(format!("{many} buckets are too many for a frame: name up to 64 of them, dripfeed top BUCKET…"))
        }
        _ => None,
    }
}

/// The rows with the reasons of all buckets. If they don't fit, one page with the reason of the selected bucket.
fn rows(app: &App, columns: &Columns, place: Place) -> Vec<Line<'static>> {
    let Place { theme, width, most: room, .. } = place;
    let listed = app.listed();
    if listed.is_empty() {
        // There are no buckets if none of the named ones exists.
        if app.filter.is_empty() {
            return Vec::new();
        }
        return vec![Line::styled(format!("No bucket's name contains `{}`.", app.filter), theme.faint())];
    }
    let draw = |bucket: &ShownBucket, selected: bool, explained: bool| {
        let mut lines = vec![columns.row(bucket, selected, theme)];
        if explained {
            let reason = why_line(bucket, columns);
            let reason = if room.is_some() { cell::cut(&reason, width) } else { reason };
            lines.push(Line::styled(reason, theme.faint()));
        }
        lines
    };
    let Some(room) = room else { return listed.iter().flat_map(|bucket| draw(bucket, false, true)).collect() };
    let selection = app.selection();
    if listed.len() * 2 <= room {
        let rows = listed.iter().enumerate();
        return rows.flat_map(|(place, bucket)| draw(bucket, place == selection, true)).collect();
    }
    // One line is for the reason, and one for the range of rows that the page shows.
    let page = room.saturating_sub(2).max(1);
    let first = selection / page * page;
    let rows = listed.iter().enumerate().skip(first).take(page);
    let last = (first + page).min(listed.len());
    let mut lines: Vec<_> =
        rows.flat_map(|(place, bucket)| draw(bucket, place == selection, place == selection)).collect();
    lines.push(Line::styled(format!("  {} to {last} of {}", first + 1, listed.len()), theme.faint()));
    lines
}

fn why_line(bucket: &ShownBucket, columns: &Columns) -> String {
    let times = if columns.have_times() { String::new() } else { bucket.row.as_ref().map_or_else(String::new, times) };
    format!("    {}{times}", bucket.why())
}

/// The age of the oldest job and when the bucket is empty, which have columns only in a wide terminal.
fn times(row: &Row) -> String {
    let oldest = row.oldest_age_ms.map(|ms| format!(" Oldest {}.", numbers::time(ms)));
    // While no calls are made, the reason says until when.
    let leaks = row.effective_per_s.is_none_or(|rate| rate > 0.0);
    let empties = empties(row).filter(|_| leaks).map(|time| format!(" Empties in {time}."));
    oldest.unwrap_or_default() + &empties.unwrap_or_default()
}
