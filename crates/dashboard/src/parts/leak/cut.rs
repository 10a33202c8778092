//! How much of the rate the adaptive rate leaves, and why.

use dripfeed_job::Rate;

use crate::model::bucket::Row;
use crate::parts::numbers;

/// How a rate is shown that was reduced because calls are refused or, otherwise, time out.
pub(super) struct Cut {
    /// `Cut to 40 %`
    pub(super) main: String,
    /// ` (2/s of 5/s): 12 % of recent calls were refused.`
    pub(super) after: String,
}

impl Cut {
    /// A row of a table has no target, and no recent calls.
    pub(super) fn of(row: &Row, target: Option<&str>) -> Self {
        let effective = row.effective_per_s.map_or_else(|| "less".to_owned(), numbers::per_second);
        let cause = if row.reason == "timeouts" { "calls time out".to_owned() } else { refusals(row) };
        let (main, of) = match target {
            None => (effective, String::new()),
            Some(target) => match left(row, target) {
                Some(percent) => (format!("{percent} %"), format!(" ({effective} of {target})")),
                None => (effective, format!(" of {target}")),
            },
        };
        Self { main: format!("Cut to {main}"), after: format!("{of}: {cause}.") }
    }
}

/// What is left of the target, in percent. `None` if the target isn't one rate, or if the rate isn't known.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a percentage"
)]
fn left(row: &Row, target: &str) -> Option<u64> {
    let (effective, target) = (row.effective_per_s?, target.parse::<Rate>().ok()?);
    let target_per_s = target.limit() as f64 * 1e6 / target.period_us() as f64;
    Some((effective * 100.0 / target_per_s).round() as u64)
}

fn refusals(row: &Row) -> String {
    let refused = row.recent_answers.get("429").copied().unwrap_or(0);
    match refused {
        // It was reduced longer ago than the recent calls.
        0 => "the upstream refuses calls".to_owned(),
        refused => {
            let share = numbers::share(refused, row.recent_answers.values().sum());
            format!("{share} of recent calls were refused")
        }
    }
}
