//! Times: relative, with the exact time beside it. A script of the page updates them.

use jiff::Timestamp;
use maud::{Markup, html};

use crate::parts::numbers;

/// An RFC 3339 time as `3 min ago`.
pub(crate) fn ago(text: &str) -> Markup {
    html! { time datetime=(text) title=(text) { (relative(text)) } }
}

/// The time of day in so long.
pub(crate) fn clock_in(ms: u64) -> Markup {
    let at = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(now_ms().saturating_add(ms)).ok());
    clock(at.unwrap_or(Timestamp::MAX))
}

/// The time of day, to the second: `14:03:20`.
pub(crate) fn clock(at: Timestamp) -> Markup {
    let (exact, shown) = (format!("{at:.0}"), at.strftime("%H:%M:%S UTC").to_string());
    html! { time datetime=(exact) title=(exact) data-clock { (shown) } }
}

fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
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
