//! The view of one bucket: level, numbers, sparklines, processors and limits.

use dripfeed_dashboard::frame::{Bucket, Row, empties, numbers};
use ratatui_core::text::{Line, Span};

use super::level_bar::{self, IN_FLIGHT, PARKED, WAITING};
use super::notices::{self, Place};
use super::numbers::or_dash;
use super::theme::Theme;
use super::{cell, sparkline};
use crate::top::app::{App, OpenedBucket};
use crate::top::bucket_history::Sample;
use crate::top::shown_bucket::ShownBucket;

/// Width of the names of numbers.
const NAME: usize = 16;
/// Width of the values.
const VALUE: usize = 22;
/// Width of the latest value beside a sparkline.
const LATEST: usize = 10;

pub(super) fn lines(app: &App, opened: &OpenedBucket, place: Place) -> Vec<Line<'static>> {
    let Place { theme, width, .. } = place;
    let Some(bucket) = app.opened_bucket() else {
        return vec![Line::styled(format!("There is no bucket {} any more.", opened.name), theme.mood("bad"))];
    };
    let mut lines = notices::lines(bucket.notices(), Place { most: None, ..place });
    lines.push(Line::default());
    lines.push(why(bucket, theme));
    if let Some(row) = &bucket.row {
        lines.extend(level(row, theme, width));
        lines.push(Line::default());
        lines.extend(figures(row, bucket.state.as_ref(), width, theme));
        lines.push(Line::default());
        lines.extend(sparklines(opened, row, width, theme));
    }
    if let Some(state) = &bucket.state {
        lines.push(Line::default());
        lines.extend(details(state, theme));
    }
    lines
}

fn why(bucket: &ShownBucket, theme: Theme) -> Line<'static> {
    let badge = bucket.badge();
    let badge_text = format!("{} {}  ", badge.shape, badge.word);
    Line::from(vec![Span::styled(badge_text, theme.mood(badge.mood)), Span::raw(bucket.why())])
}

fn level(row: &Row, theme: Theme, width: usize) -> [Line<'static>; 2] {
    let full = format!(" {}", numbers::share(row.level, row.capacity));
    let mut bar = level_bar::spans(row, width.saturating_sub(full.len() + 2), theme);
    bar.push(Span::raw(full));
    let part = |glyph: &'static str, style, name: &str, jobs| {
        [Span::styled(glyph, style), Span::raw(format!(" {name} {}   ", numbers::count(jobs)))]
    };
    let parts = [
        part(IN_FLIGHT, theme.in_flight(), "in flight", row.in_flight),
        part(WAITING, theme.waiting(), "waiting", row.waiting),
        part(PARKED, theme.parked(), "parked", row.parked),
    ];
    let of = format!("{} of {} jobs", numbers::count(row.level), numbers::count(row.capacity));
    let parts = parts.into_iter().flatten().chain([Span::styled(of, theme.strong())]);
    [Line::from(bar), parts.collect()]
}

/// Names and values, with as many pairs on a line as fit.
fn figures(row: &Row, state: Option<&Bucket>, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut figures = vec![
        ("in", numbers::measured(row.accepted_per_s)),
        ("out", numbers::measured(row.settled_per_s)),
        ("refused (429)", numbers::measured(row.refused_per_s)),
        ("rate in force", or_dash(row.effective_per_s.map(numbers::per_second))),
        ("oldest", or_dash(row.oldest_age_ms.map(numbers::time))),
        ("empties in", or_dash(empties(row))),
        ("dead letters", numbers::count(row.dead)),
    ];
    if let Some(state) = state {
        let of = format!("{} of {}", numbers::bytes(state.bytes), numbers::bytes(state.capacity_bytes));
        figures.extend([
            ("rate", state.pace.target.clone().unwrap_or_else(|| "no limit".to_owned())),
            ("bytes", of),
            ("per caller", state.max_share.clone().unwrap_or_else(|| "no limit".to_owned())),
            ("kind", state.kind.clone()),
        ]);
    }
    let beside = (width / (NAME + VALUE)).max(1);
    let line = |figures: &[(&str, String)]| {
        figures
            .iter()
            .flat_map(|(name, value)| [Span::styled(cell::left(name, NAME), theme.faint()), value_of(value)])
            .collect()
    };
    figures.chunks(beside).map(line).collect()
}

fn value_of(value: &str) -> Span<'static> {
    Span::raw(format!("{value:<VALUE$}"))
}

/// The numbers since the bucket was opened.
fn sparklines(opened: &OpenedBucket, row: &Row, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let room = width.saturating_sub(NAME + LATEST);
    #[expect(clippy::cast_precision_loss, reason = "a picture")]
    let capacity = row.capacity as f64;
    let ceiling = row.effective_per_s.unwrap_or(0.0);
    let rate = numbers::measured;
    let line = |name: &str, number: fn(&Sample) -> f64, ceiling: f64, latest: String| {
        let picture = sparkline::text(&opened.history.last(room, number), ceiling);
        Line::from(vec![
            Span::styled(cell::left(name, NAME), theme.faint()),
            Span::raw(cell::left(&latest, LATEST)),
            Span::raw(picture),
        ])
    };
    vec![
        line("level", |sample| sample.level, capacity, numbers::count(row.level)),
        line("in", |sample| sample.accepted_per_s, 0.0, rate(row.accepted_per_s)),
        line("refused (429)", |sample| sample.refused_per_s, 0.0, rate(row.refused_per_s)),
        line("out", |sample| sample.settled_per_s, ceiling, rate(row.settled_per_s)),
    ]
}

fn details(state: &Bucket, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled("Replicas", theme.strong())];
    if state.replicas.is_empty() {
        lines.push(Line::from("  none; start one: dripfeed -c FILE processor"));
    }
    lines.extend(state.replicas.iter().map(|replica| {
        let in_flight = numbers::count(replica.in_flight);
        let silent = if replica.silent { ", no heartbeat" } else { "" };
        Line::from(format!("  {}  {in_flight} in flight{silent}", replica.consumer))
    }));
    lines.push(Line::default());
    lines.push(Line::styled("Totals", theme.strong()));
    lines.push(Line::from(format!("  {}", totals(state))));
    lines.push(Line::default());
    lines.push(Line::styled("Submission limits", theme.strong()));
    if state.limits.is_empty() {
        lines.push(Line::from("  none"));
    }
    lines.extend(state.limits.iter().map(|limit| Line::from(format!("  {limit}"))));
    lines
}

fn totals(state: &Bucket) -> String {
    let counted = &state.totals;
    let ended = counted.ended.iter().map(|(ending, jobs)| (ending.clone(), *jobs));
    let refused = counted.refused.iter().map(|(code, jobs)| (format!("refused ({code})"), *jobs));
    let others = [
        ("recovered".to_owned(), counted.recovered),
        ("dead letters replayed".to_owned(), counted.dead_replayed),
        ("dead letters dropped".to_owned(), counted.dead_dropped),
    ];
    let counts = ended.chain(refused).chain(others).filter(|(_, jobs)| *jobs > 0);
    let counts = counts.map(|(what, jobs)| format!(", {what} {}", numbers::count(jobs)));
    format!("accepted {}{}", numbers::count(counted.accepted), counts.collect::<String>())
}
