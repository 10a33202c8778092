//! The level of a bucket as a bar with layers: in flight, waiting, parked. Each has its own glyph, so colours aren't
//! needed.

use dripfeed_dashboard::frame::Row;
use ratatui_core::text::Span;

use super::theme::Theme;

pub(super) const IN_FLIGHT: &str = "█";
pub(super) const WAITING: &str = "▓";
pub(super) const PARKED: &str = "░";
const ROOM: &str = "·";

/// `[██▓▓▓░····]`, with `inner` cells between the brackets.
pub(super) fn spans(row: &Row, inner: usize, theme: Theme) -> Vec<Span<'static>> {
    let [in_flight, waiting, parked] = layers(row, inner);
    vec![
        Span::raw("["),
        Span::styled(IN_FLIGHT.repeat(in_flight), theme.in_flight()),
        Span::styled(WAITING.repeat(waiting), theme.waiting()),
        Span::styled(PARKED.repeat(parked), theme.parked()),
        Span::styled(ROOM.repeat(inner.saturating_sub(in_flight + waiting + parked)), theme.faint()),
        Span::raw("]"),
    ]
}

/// How many cells each layer has. A layer with any jobs has at least one, as far as there is room.
fn layers(row: &Row, inner: usize) -> [usize; 3] {
    let (mut jobs, mut before) = (0, 0);
    [row.in_flight, row.waiting, row.parked].map(|layer| {
        jobs += layer;
        let least = before + usize::from(layer > 0);
        let filled = cells(jobs, row.capacity, inner).max(least).min(inner);
        let height = filled - before;
        before = filled;
        height
    })
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a picture")]
fn cells(jobs: u64, capacity: u64, inner: usize) -> usize {
    (jobs as f64 / capacity.max(1) as f64 * inner as f64).round() as usize
}
