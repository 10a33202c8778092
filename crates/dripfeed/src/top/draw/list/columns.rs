//! The columns of the list: more and wider ones on a wide terminal.

use dripfeed_dashboard::frame::{Row, empties, numbers};
use ratatui_core::text::{Line, Span};

use crate::top::draw::cell;
use crate::top::draw::level_bar;
use crate::top::draw::numbers::{or_dash, short, short_rate};
use crate::top::draw::theme::Theme;
use crate::top::shown_bucket::ShownBucket;

/// Minimum width of a terminal with all columns.
const WIDE: usize = 140;
/// Minimum width for the bar, the level and all `RATES`. Below it the bar is left out, then one column after another.
const NARROW: usize = 80;
const MARK: usize = 2;
const STATE: usize = 15;
const LEVEL: usize = 11;
const SHORTEST_NAME: usize = 14;
const LONGEST_NAME: usize = 30;
const BRACKETS: usize = 2;
const SHORTEST_BAR: usize = 10;
const LONGEST_BAR: usize = 40;

/// The head of a column, its width with the space before it, and its text in a row.
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

/// Indices into `RATES`: if not all of them fit, the first ones here are shown.
const BY_WEIGHT: [usize; RATES.len()] = [1, 3, 0, 2];

pub(super) struct Columns {
    wide: bool,
    name: usize,
    /// Width inside the brackets. `None` if there is no room for the bar.
    bar: Option<usize>,
    has_level: bool,
    /// Which of `RATES` are shown.
    rates: [bool; RATES.len()],
}

impl Columns {
    pub(super) fn of(width: usize) -> Self {
        if width < NARROW {
            return Self::narrow(width);
        }
        let wide = width >= WIDE;
        let more: usize = if wide { JOBS.iter().chain(&TIMES).map(|(_, width, _)| width).sum() } else { 0 };
        let spare = width.saturating_sub(NARROW + more);
        let name = (SHORTEST_NAME + spare).min(LONGEST_NAME);
        let bar = (SHORTEST_BAR + spare - (name - SHORTEST_NAME)).min(LONGEST_BAR);
        Self { wide, name, bar: Some(bar), has_level: true, rates: [true; RATES.len()] }
    }

    fn narrow(width: usize) -> Self {
        let width = width.saturating_sub(MARK + 1 + STATE);
        let mut room = width.saturating_sub(SHORTEST_NAME);
        let mut takes = |width: usize| {
            let fits = width <= room;
            room -= if fits { width } else { 0 };
            fits
        };
        let has_level = takes(LEVEL + 1);
        let mut rates = [false; RATES.len()];
        for column in BY_WEIGHT {
            rates[column] = has_level && takes(RATES[column].1);
        }
        let name = width.min(SHORTEST_NAME + room).min(LONGEST_NAME);
        Self { wide: false, name, bar: None, has_level, rates }
    }

    pub(super) fn have_times(&self) -> bool {
        self.wide
    }

    fn numbers(&self) -> impl Iterator<Item = &'static Column> {
        let jobs = if self.wide { JOBS.as_slice() } else { &[] };
        let times = if self.wide { TIMES.as_slice() } else { &[] };
        let rates = RATES.iter().zip(self.rates).filter_map(|(column, is_shown)| is_shown.then_some(column));
        jobs.iter().chain(rates).chain(times)
    }

    pub(super) fn head(&self, theme: Theme) -> Line<'static> {
        let name = self.name;
        let mut text = format!("{:MARK$}{} {:STATE$}", "", cell::left("bucket", name), "state");
        if let Some(bar) = self.bar {
            text += &format!(" {:1$}", "level", bar + BRACKETS);
        }
        if self.has_level {
            text += &cell::right("jobs", LEVEL + 1);
        }
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
        ];
        if let Some(row) = &bucket.row {
            if let Some(bar) = self.bar {
                spans.push(Span::raw(" "));
                spans.extend(level_bar::spans(row, bar, theme));
            }
            if self.has_level {
                let level = format!("{}/{}", short(row.level), short(row.capacity));
                spans.push(Span::raw(cell::right(&level, LEVEL + 1)));
            }
            spans.extend(self.numbers().map(|(_, width, text)| Span::raw(cell::right(&text(row), *width))));
        }
        let line = Line::from(spans);
        if selected { line.patch_style(theme.selected()) } else { line }
    }
}
