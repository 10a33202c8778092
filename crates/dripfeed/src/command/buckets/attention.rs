//! What needs attention, and the remedies: in the words of the dashboard and of `dripfeed top`.

use dripfeed_dashboard::frame::{Bucket, Notice, of_bucket, sort};
use serde_json::Value as Json;

use crate::output;

/// A person reads no more.
const MOST_SHOWN: usize = 20;

/// On standard error: data are on standard output.
pub(super) fn say(buckets: &[Json]) {
    // A state that can't be read is reported, and an earlier version may have another.
    let states = buckets.iter().filter_map(|bucket| serde_json::from_value::<Bucket>(bucket.clone()).ok());
    let mut notices: Vec<Notice> = states.flat_map(|bucket| of_bucket(&bucket.row())).collect();
    sort(&mut notices);
    let others = notices.len().saturating_sub(MOST_SHOWN);
    for Notice { mood, subject, what, what_to_do, .. } in notices.into_iter().take(MOST_SHOWN) {
        let severity = if mood == "bad" { "problem" } else { "warning" };
        let to_do = if what_to_do.is_empty() { String::new() } else { format!(": {what_to_do}") };
        output::say(format_args!("{severity}: {subject}: {what}{to_do}"));
    }
    if others > 0 {
        output::say(format_args!("and {others} more: see the column ATTENTION"));
    }
}
