//! Prints what needs attention and the remedies, in the same words as the dashboard and `dripfeed top`.

use dripfeed_dashboard::frame::{Bucket, Notice, of_bucket, sort};
use serde_json::Value as Json;

use crate::output;

/// More would be too many to read.
const MAX_SHOWN: usize = 20;

/// Prints to standard error, because standard output has the data.
pub(super) fn print(buckets: &[Json]) {
    // Skips states that can't be parsed: those with an error, which is reported elsewhere, and those of other versions.
    let states = buckets.iter().filter_map(|bucket| serde_json::from_value::<Bucket>(bucket.clone()).ok());
    let mut notices: Vec<Notice> = states.flat_map(|bucket| of_bucket(&bucket.row())).collect();
    sort(&mut notices);
    let others = notices.len().saturating_sub(MAX_SHOWN);
    for Notice { mood, subject, what, what_to_do, .. } in notices.into_iter().take(MAX_SHOWN) {
        let severity = if mood == "bad" { "problem" } else { "warning" };
        let remedy = if what_to_do.is_empty() { String::new() } else { format!(": {what_to_do}") };
        output::say(format_args!("{severity}: {subject}: {what}{remedy}"));
    }
    if others > 0 {
        output::say(format_args!("and {others} more: see the column ATTENTION"));
    }
}
