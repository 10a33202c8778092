//! The rate of a bucket, and what limits it.

mod cut;
mod state;

use maud::{Markup, html};

use self::cut::Cut;
pub use self::state::State;
use crate::model::audit::AuditEntry;
use crate::model::bucket::{Bucket, Row};
use crate::parts::{numbers, when};

/// Minimum rate that can be compared with the measured one, which covers half a minute.
const MIN_COMPARED_PER_S: f64 = 0.2;
/// If the waiting jobs need longer than this at the bucket's rate, something else limits it.
const BACKLOG_S: f64 = 2.0;
/// Minimum age of the oldest job: calls of younger jobs haven't ended yet.
const MIN_AGE_MS: u64 = 10_000;
const MOSTLY: f64 = 0.8;
/// The target of a bucket without a rate.
const NO_RATE: &str = "no rate limit";

/// Why the effective rate differs from the target: a sentence with a highlighted part.
pub struct Why {
    before: &'static str,
    main: String,
    /// How long it is still throttled, or its quota used up.
    for_ms: Option<u64>,
    after: String,
}

impl Why {
    #[must_use]
    pub fn of(bucket: &Bucket) -> Self {
        let target = bucket.pace.target.as_deref().unwrap_or(NO_RATE);
        Self::with(&bucket.row(), Some(target))
    }

    /// For a row of a table, which has no target.
    #[must_use]
    pub fn of_row(row: &Row) -> Self {
        Self::with(row, None)
    }

    fn with(row: &Row, target: Option<&str>) -> Self {
        let effective = row.effective_per_s.map_or_else(|| "less".to_owned(), numbers::per_second);
        let of_target = |before: &str, after: &str| target.map(|rate| format!("{before}{rate}{after}"));
        let its_rate = || match target {
            Some(NO_RATE) => " It has no rate limit.".to_owned(),
            _ => of_target(" Its rate is ", ".").unwrap_or_default(),
        };
        let why = |main: &str, after: String| Self { before: "", main: main.to_owned(), for_ms: None, after };
        let no_processor = || why("No processor", format!(" serves it.{}", its_rate()));
        match row.reason.as_str() {
            "paused" => why("Paused", format!(". It fills until it is resumed.{}", its_rate())),
            "dead_full" => why("Stopped", ": its dead letters are full.".to_owned()),
            "outbox_full" => why("Stopped", ": its outbox is full until other buckets have room.".to_owned()),
            // As in `State::of`.
            _ if row.replicas == 0 && row.level > 0 => no_processor(),
            "held" => {
                let why = why("Throttled by the upstream", format!(".{}", its_rate()));
                Self { for_ms: row.held_for_ms, ..why }
            }
            "used_up" => {
                let now = if row.used_up_for_ms.is_none() { " for now" } else { "" };
                let why = why("quota is used up", format!("{now}{}.", of_target(": ", "").unwrap_or_default()));
                Self { before: "The ", for_ms: row.used_up_for_ms, ..why }
            }
            "refusals" | "timeouts" => {
                let Cut { main, after } = Cut::of(row, target);
                let slower =
                    slower(row).map(|rate| format!(" It leaks at {}: {}.", numbers::measured(rate), cause(row)));
                why(&main, after + &slower.unwrap_or_default())
            }
            _ if row.replicas == 0 => no_processor(),
            _ if row.fails() && !is_slow(row) => why("Most of its calls fail", format!(".{}", its_rate())),
            "no_rate" => why("", "Leaks as fast as the upstream answers: no rate limit is set.".to_owned()),
            _ => match (slower(row), target) {
                (Some(rate), _) => {
                    let after = format!(", slower than its rate of {}: {}.", target.unwrap_or(&effective), cause(row));
                    Self { before: "Leaks at ", ..why(&numbers::measured(rate), after) }
                }
                (None, Some(target)) => {
                    Self { before: "Leaks at up to ", ..why(target, ", as configured.".to_owned()) }
                }
                (None, None) => Self { before: "Leaks at up to ", ..why(&effective, ".".to_owned()) },
            },
        }
    }

    /// Returns the sentence as plain text.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { before, main, for_ms, after } = self;
        let yet = for_ms.map_or_else(String::new, |ms| format!(" for another {}", numbers::time(ms)));
        format!("{before}{main}{yet}{after}")
    }
}

/// `paused_by`: the entry of the audit log about the pause of a bucket.
pub(crate) fn why(bucket: &Bucket, paused_by: Option<&AuditEntry>) -> Markup {
    let Why { before, main, for_ms, after } = Why::of(bucket);
    html! {
        (before)
        @if !main.is_empty() { strong { (main) } }
        @if let Some(entry) = paused_by {
            " " (when::ago(&entry.at)) @if let Some(key) = &entry.key { " by key " code { (key) } }
        }
        @if let Some(ms) = for_ms { " until " (when::clock_in(ms)) }
        (after)
    }
}

/// Returns when the bucket will be empty if no more jobs come, or until when it certainly won't. Returns `None` if it
/// is empty, or if no job can leave it.
#[must_use]
pub fn empties(bucket: &Row) -> Option<String> {
    // Parked jobs don't leave before they are due.
    let ready = Some(bucket.waiting + bucket.in_flight).filter(|ready| *ready > 0 && bucket.replicas > 0)?;
    let stops_for = match bucket.reason.as_str() {
        "held" => bucket.held_for_ms,
        "used_up" => bucket.used_up_for_ms,
        _ => None,
    };
    if let Some(ms) = stops_for {
        return Some(format!("> {}", numbers::time(ms)));
    }
    let rate = slower(bucket).or_else(|| unlimited(bucket)).or(bucket.effective_per_s).filter(|rate| *rate > 0.0)?;
    Some(numbers::time(ms_for(ready, rate)))
}

/// The rate of settled jobs if the bucket has no rate limit.
fn unlimited(bucket: &Row) -> Option<f64> {
    (bucket.reason == "no_rate").then_some(bucket.settled_per_s).filter(|rate| *rate > 0.0)
}

/// Whether slow calls, not the rate, limit the bucket.
pub(crate) fn is_slow(bucket: &Row) -> bool {
    slower(bucket).is_some()
}

/// Why a bucket is slower than its rate. A failed call parks its job; so does a delay, which looks the same here.
fn cause(row: &Row) -> &'static str {
    match (row.in_flight > 0, row.parked > 0) {
        _ if row.fails() => "most of its calls fail",
        (true, false) => "its calls take long",
        (true, true) => "its calls take long, or fail and are retried",
        (false, true) => "its calls may fail and be retried, or its callers be at their limits",
        (false, false) => "its callers may be at their limits",
    }
}

/// The rate of settled jobs if it is lower than allowed although jobs wait, because calls take too long. `None` if the
/// rate limits the bucket, or if it isn't known yet.
#[expect(clippy::cast_precision_loss, reason = "a comparison")]
fn slower(bucket: &Row) -> Option<f64> {
    let rate = bucket.effective_per_s.filter(|rate| *rate >= MIN_COMPARED_PER_S)?;
    let is_limited = matches!(bucket.reason.as_str(), "target" | "refusals" | "timeouts");
    let has_waited = bucket.oldest_age_ms.is_some_and(|age| age >= MIN_AGE_MS);
    let is_behind = is_limited && has_waited && bucket.waiting as f64 > rate * BACKLOG_S;
    let lowest = bucket.lowest_per_s.map_or(rate, |lowest| lowest.min(rate));
    (is_behind && bucket.settled_per_s < lowest * MOSTLY).then_some(bucket.settled_per_s)
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
fn ms_for(jobs: u64, per_s: f64) -> u64 {
    (jobs as f64 / per_s * 1000.0) as u64
}
