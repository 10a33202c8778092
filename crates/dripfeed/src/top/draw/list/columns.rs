//! The columns of the list: more and wider ones on a wide terminal.

use dripfeed_dashboard::frame::{Row, empties, numbers};
use ratatui_core::text::{Line, Span};

use crate::top::draw::cell;
use crate::top::draw::level_bar;
use crate::top::draw::numbers::{or_dash, short, short_rate};
use crate::top::draw::theme::Theme;
use crate::top::shown_bucket::ShownBucket;

/// From this width on all columns have room.
const WIDE: usize = 140;
/// Of the narrowest terminal that has room for the others.
const NARROW: usize = 80;
const MARK: usize = 2;
const STATE: usize = 15;
const LEVEL: usize = 11;
const SHORTEST_NAME: usize = 14;
const LONGEST_NAME: usize = 30;
const BRACKETS: usize = 2;
const SHORTEST_BAR: usize = 10;
const LONGEST_BAR: usize = 40;

/// Its head, its width with the space before it, and what stands in it.
type Column = (&'static str, usize, fn(&Row) -> String);

static JOBS: [Column; 3] = [
    ("waiting", 8, |row| short(row.waiting)),
    ("in flight", 10, |row| short(row.in_flight)),
    ("parked", 8, |row| short(row.parked)),
];
static RATES: [Column; 4] = [
    ("in/s", 6, |row| short_rate(row.accepted_per_s)),
    ("out/s", 6, |row| short_rate(row.settled_per_s)),
    ("429/s", 6, |row| short_rate(row.refused_per_s)),
    ("dead", 5, |row| short(row.dead)),
];
static TIMES: [Column; 2] = [
    ("oldest", 11, |row| or_dash(row.oldest_age_ms.map(numbers::time))),
    ("empties in", 12, |row| or_dash(empties(row))),
];

pub(super) struct Columns {
    wide: bool,
    name: usize,
    /// Inside its brackets.
    bar: usize,
}

impl Columns {
    pub(super) fn of(width: usize) -> Self {
        let wide = width >= WIDE;
        let more: usize = if wide { JOBS.iter().chain(&TIMES).map(|(_, width, _)| width).sum() } else { 0 };
        let spare = width.saturating_sub(NARROW + more);
        let name = (SHORTEST_NAME + spare).min(LONGEST_NAME);
        let bar = (SHORTEST_BAR + spare - (name - SHORTEST_NAME)).min(LONGEST_BAR);
        Self { wide, name, bar }
    }

    pub(super) fn have_times(&self) -> bool {
        self.wide
    }

    fn numbers(&self) -> impl Iterator<Item = &'static Column> {
        let jobs = if self.wide { JOBS.as_slice() } else { &[] };
        let times = if self.wide { TIMES.as_slice() } else { &[] };
        jobs.iter().chain(&RATES).chain(times)
    }

    pub(super) fn head(&self, theme: Theme) -> Line<'static> {
        let Self { name, bar, .. } = *self;
        let bar = bar + BRACKETS;
        let mut text = format!("{:MARK$}{:name$} {:STATE$} {:bar$} {:>LEVEL$}", "", "bucket", "state", "level", "jobs");
        for (head, width, _) in self.numbers() {
            text += &cell::right(head, *width);
        }
        Line::styled(text, theme.strong())
    }

    pub(super) fn row(&self, bucket: &ShownBucket, selected: bool, theme: Theme) -> Line<'static> {
        let badge = bucket.badge();
        let mut spans = vec![
            Span::raw(if selected { "> " } else { "  " }),
            Span::raw(cell::left(&bucket.name, self.name) + " "),
            Span::styled(cell::left(&format!("{} {}", badge.shape, badge.word), STATE), theme.mood(badge.mood)),
            Span::raw(" "),
        ];
        if let Some(row) = &bucket.row {
            spans.extend(level_bar::spans(row, self.bar, theme));
            let level = format!("{}/{}", short(row.level), short(row.capacity));
            spans.push(Span::raw(cell::right(&level, LEVEL + 1)));
            spans.extend(self.numbers().map(|(_, width, text)| Span::raw(cell::right(&text(row), *width))));
        }
        let line = Line::from(spans);
        if selected { line.patch_style(theme.selected()) } else { line }
    }
}
