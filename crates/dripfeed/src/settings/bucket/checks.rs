//! Checks settings of a bucket that depend on each other.

use dripfeed_bucket::{Fair, FairBy, Keep};
use dripfeed_job::size;

use super::keep::{ConfiguredWhenDeadFull, KeepSection};
use super::order::check_order;
use super::section::{RetrySection, Section};
use crate::settings::read::{Reader, SectionPath};
use crate::settings::tree::Step;

pub(super) fn check_retry(
    reader: &mut Reader<'_>,
    place: &SectionPath<'_>,
    RetrySection { first, max, .. }: &RetrySection,
) {
    check_order(reader, place, "retry", [("first", *first), ("max", *max)]);
}

pub(super) fn check_keep(reader: &mut Reader<'_>, place: &SectionPath<'_>, keep: &KeepSection) {
    let (attempts, answer) = (Keep::MOST_FAILED_ATTEMPTS, Keep::MOST_FAILED_ANSWER_BYTES);
    if keep.failed_attempts > attempts {
        let message = format!("{} is too large: use at most {attempts}", keep.failed_attempts);
        reader.error(&place.of(reader.tree, &["keep".into(), "failed_attempts".into()]), message);
    }
    if keep.failed_answer > answer {
        let message = format!("is too large: use at most {}", size::show(answer));
        reader.error(&place.of(reader.tree, &["keep".into(), "failed_answer".into()]), message);
    }
}

pub(super) fn check_fair(reader: &mut Reader<'_>, place: &SectionPath<'_>, fair: &Fair) {
    for fault in fair.faults() {
        reader.error(&place.of(reader.tree, &["fair".into(), fault.setting.into()]), fault.why);
    }
}

pub(super) fn refuse_for_list(reader: &mut Reader<'_>, path: &[Step], section: &Section) {
    let holds = matches!(section.keep.when_dead_full, ConfiguredWhenDeadFull::Hold);
    let has_fair_queuing = section.fair.by != FairBy::Off;
    let has_targets = !section.on_outcome.is_empty();
    let refused: [(&[&str], bool, &str); 12] = [
        (&["fair", "by"], has_fair_queuing, "a list has no fair queuing"),
        (&["fair", "weights"], true, "a list has no fair queuing"),
        (&["fair", "rate"], true, "a list has no fair queuing"),
        (&["fair", "burst"], true, "a list has no fair queuing"),
        (&["fair", "tiers"], true, "a list has no fair queuing"),
        (&["fair", "max_in_flight"], true, "a list has no fair queuing"),
        (&["fair", "flows"], true, "a list has no fair queuing"),
        (&["retry", "attempts"], section.retry.attempts > 1, "a list has no retries"),
        (&["retry", "first"], true, "a list has no retries"),
        (&["retry", "max"], true, "a list has no retries"),
        (&["on_outcome"], has_targets, "a list has no outbox for outcome jobs"),
        (&["keep", "when_dead_full"], holds, "a list can't keep jobs that wait for room among the dead letters"),
    ];
    for (key, is_refused, why) in refused {
        let path: Vec<Step> = path.iter().cloned().chain(key.iter().map(|key| Step::from(*key))).collect();
        if is_refused && reader.tree.is_set(&path) {
            reader.error(&path, format!("{why}: remove the setting, or use kind = \"stream\""));
        }
    }
}

pub(super) fn check_key(reader: &mut Reader<'_>, place: &SectionPath<'_>, key: &str) {
    if key.chars().any(|c| c.is_control() || c.is_whitespace()) || key.len() > 512 {
        let path = place.of(reader.tree, &["key".into()]);
        reader.error(&path, "is not a valid key: use at most 512 bytes, without spaces and control characters");
    }
}
