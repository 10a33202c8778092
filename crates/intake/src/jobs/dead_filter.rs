//! A filter of dead letters: whether it may be meant, and as text.

use dripfeed_bucket::DeadFilter;
use dripfeed_job::{LastStatus, Rate};

use crate::request::time;

/// The member that is given and empty, and why that is refused: what a script didn't fill in must not mean all letters.
pub(crate) fn empty_text(filter: &DeadFilter) -> Option<(&'static str, &'static str)> {
    if filter.caller.as_deref() == Some("") {
        return Some(("caller", "is empty; give a caller, or omit it"));
    }
    let is_empty = filter.reason.as_deref() == Some("") && !filter.exact_reason;
    is_empty.then_some(("reason", "is empty; give a part of a reason, or omit it"))
}

/// For the audit log: ``at 10/s, status 410, of shop, the reason `gone```.
pub(crate) fn described(filter: &DeadFilter, rate: Option<Rate>) -> String {
    let which = if filter.exact_reason { "the reason" } else { "a reason with" };
    let reason = filter.reason.as_ref().map(|reason| format!("{which} `{reason}`"));
    let parts = [
        filter.status.map(LastStatus::described),
        filter.caller.as_ref().map(|caller| format!("of {caller}")),
        filter.died_since_ms.map(|ms| format!("since {}", time::show(ms))),
        filter.died_until_ms.map(|ms| format!("until {}", time::show(ms))),
        // Last, because the audit log cuts long texts.
        reason.or_else(|| filter.exact_reason.then(|| "no reason".to_owned())),
    ];
    let mut parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        parts.push("all".to_owned());
    }
    parts.splice(0..0, rate.map(|rate| format!("at {rate}")));
    parts.join(", ")
}
