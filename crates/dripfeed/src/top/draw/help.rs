//! The help view: the keys.

use ratatui_core::text::{Line, Span};

use super::cell;
use super::level_bar::{IN_FLIGHT, PARKED, WAITING};
use super::theme::Theme;

const KEYS: [(&str, &str); 6] = [
    ("↑ ↓ j k PgUp PgDn Home End", "select a bucket, or scroll"),
    ("Enter", "open the selected bucket"),
    ("Esc", "back, or clear the filter"),
    ("/", "filter by name"),
    ("?", "show these keys"),
    ("q, Ctrl-C", "quit"),
];
const PAUSE: (&str, &str) = ("p", "pause or resume the bucket, after a confirmation");
/// Width of the longest keys and of a gap.
const KEYS_WIDTH: usize = 28;

pub(super) fn lines(may_operate: bool, theme: Theme) -> Vec<Line<'static>> {
    let keys = KEYS.into_iter().chain(may_operate.then_some(PAUSE));
    let key = |(key, what): (&str, &'static str)| {
        Line::from(vec![Span::styled(cell::left(key, KEYS_WIDTH), theme.strong()), Span::raw(what)])
    };
    let mut lines = vec![Line::styled("Keys", theme.strong()), Line::default()];
    lines.extend(keys.map(key));
    if !may_operate {
        lines.push(Line::styled("Your key may not pause buckets: this needs the scope operate.", theme.faint()));
    }
    lines.extend([Line::default(), Line::styled("Layers of a bucket", theme.strong()), Line::default()]);
    let layers = [
        (IN_FLIGHT, theme.in_flight(), "  in flight: being delivered"),
        (WAITING, theme.waiting(), "  waiting for a rate token"),
        (PARKED, theme.parked(), "  parked until due: delayed, or to be retried"),
    ];
    lines.extend(layers.map(|(glyph, style, name)| Line::from(vec![Span::styled(glyph, style), Span::raw(name)])));
    lines
}
