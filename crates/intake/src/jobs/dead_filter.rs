//! Checks a filter of dead letters, and describes it as text.

use dripfeed_bucket::DeadFilter;
use dripfeed_job::{LastStatus, Rate};

use crate::request::time;

/// Returns the first empty member, and why it is refused: a variable that a script left empty must not select all
/// letters.
pub(crate) fn empty_text(filter: &DeadFilter) -> Option<(&'static str, &'static str)> {
    if filter.caller.as_deref() == Some("") {
        return Some(("caller", "is empty; give a caller, or omit it"));
    }
    let is_empty = filter.reason.as_deref() == Some("") && !filter.exact_reason;
    is_empty.then_some(("reason", "is empty; give a part of a reason, or omit it"))
}

/// Describes the filter for the audit log, such as ``at 10/s, status 410, of shop, the reason `gone```.
pub(crate) fn described(filter: &DeadFilter, rate: Option<Rate>) -> String {
    let which = if filter.exact_reason { "the reason" } else { "a reason with" };
    let reason = filter.reason.as_ref().map(|reason| format!("{which} `{reason}`"));
    let parts = [
        filter.status.map(LastStatus::described),
        filter.caller.as_ref().map(|caller| format!("of {caller}")),
        filter.died_since_ms.map(|ms| format!("since {}", time::show(ms))),
        filter.died_until_ms.map(|ms| format!("until {}", time::show(ms))),
        // The reason comes last, because the audit log cuts long texts.
        reason.or_else(|| filter.exact_reason.then(|| "no reason".to_owned())),
    ];
    let mut parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        parts.push("all".to_owned());
    }
    parts.splice(0..0, rate.map(|rate| format!("at {rate}")));
    parts.join(", ")
}
