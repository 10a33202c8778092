//! The notice of a bucket of which most calls fail.

use crate::model::bucket::Row;
use crate::parts::numbers;

/// Classes of failed calls, with their names.
const FAILED: [(&str, &str); 4] = [
    ("none", "without an answer"),
    ("5xx", "with a 5xx status"),
    ("4xx", "with a 4xx status"),
    ("3xx", "with a redirect"),
];
/// Classes of which the jobs are dead-lettered at once.
const FINAL: [&str; 2] = ["4xx", "3xx"];

/// How many calls fail, and how. A row of a table has no numbers.
pub(super) fn words(bucket: &Row) -> String {
    let Some((class, _)) = most(bucket) else { return "most of its calls fail".to_owned() };
    let all: u64 = bucket.recent_answers.values().sum();
    let failed: u64 = FAILED.iter().filter_map(|(class, _)| bucket.recent_answers.get(*class)).sum();
    let how = FAILED.iter().find(|(known, _)| *known == class).map_or("", |(_, how)| how);
    let most = if bucket.recent_answers.get(class) == Some(&failed) { "" } else { "most " };
    let calls = numbers::pluralize(all, "call", "calls");
    let of = if failed == all { "all".to_owned() } else { numbers::count(failed) };
    format!("{of} of the last {calls} failed, {most}{how}")
}

/// The page that shows the reasons.
pub(super) fn page(bucket: &Row) -> &'static str {
    match most(bucket) {
        Some((class, _)) if FINAL.contains(&class) => "/dead",
        _ if bucket.parked > 0 => "/jobs?state=parked",
        _ => "",
    }
}

pub(super) const WHAT_TO_DO: &str = "check the upstream; pause the bucket until it answers, to save attempts";

/// The class with the most failed calls.
fn most(bucket: &Row) -> Option<(&'static str, u64)> {
    let failed = FAILED.iter().filter_map(|(class, _)| Some((*class, *bucket.recent_answers.get(*class)?)));
    failed.max_by_key(|(_, count)| *count)
}
