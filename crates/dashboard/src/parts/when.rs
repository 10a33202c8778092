//! Relative times, with the exact time as tooltip. A script of the page updates them.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};

use crate::parts::numbers;

/// An RFC 3339 time as `3 min ago`.
pub(crate) fn ago(text: &str) -> Markup {
    html! { time datetime=(text) title=(exact(text)) { (relative(text)) } }
}

/// The time of day `ms` from now.
pub(crate) fn clock_in(ms: u64) -> Markup {
    let at = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(now_ms().saturating_add(ms)).ok());
    clock(at.unwrap_or(Timestamp::MAX))
}

/// The time of day, `14:03:20 UTC`, with a date unless it is today.
pub(crate) fn clock(at: Timestamp) -> Markup {
    let text = format!("{at:.0}");
    let day = |at: Timestamp| at.to_zoned(TimeZone::UTC).date();
    let shown = if day(at) != day(now()) { exact(&text) } else { at.strftime("%H:%M:%S UTC").to_string() };
    html! { time datetime=(text) title=(exact(&text)) data-clock { (shown) } }
}

/// The exact time: `2026-11-23 14:03:20 UTC`.
fn exact(text: &str) -> String {
    text.parse::<Timestamp>().map_or_else(|_| text.to_owned(), |at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// The time for the page's script, as the browser's clock may be wrong.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

fn now_ms() -> i64 {
    now().as_millisecond()
}

fn relative(text: &str) -> String {
    let Ok(at) = text.parse::<Timestamp>() else { return text.to_owned() };
    let past_ms = now_ms().saturating_sub(at.as_millisecond());
    match u64::try_from(past_ms) {
        Ok(0..1000) => "now".to_owned(),
        Ok(ms) => format!("{} ago", numbers::time(ms / 1000 * 1000)),
        Err(_) => format!("in {}", numbers::time(past_ms.unsigned_abs())),
    }
}
