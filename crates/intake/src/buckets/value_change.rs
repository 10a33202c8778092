//! Describes changes of settings for the audit log.

use dripfeed_bucket::{Bucket, Census, Overrides};
use dripfeed_job::audit_text;

/// Describes the settings of a change that differ from the state `before`.
pub(super) fn all(bucket: &Bucket, before: &Census, wanted: &Overrides) -> Vec<String> {
    let (settings, limits) = wanted.over(&before.settings, &before.limits);
    let changes = wanted.iter().flat_map(|(setting, value)| {
        let from = setting.value(&before.settings, &before.limits);
        let to = match value {
            Some(_) => setting.value(&settings, &limits),
            None => setting.value(&bucket.settings(), &bucket.limits()),
        };
        // Whether the setting is overridden may change without its value.
        let is_kept = before.overrides.has(setting.name) == value.is_some();
        let restored = if value.is_none() { " (as configured)" } else { "" };
        let changed = if from == to && is_kept { Vec::new() } else { audit_text::change(setting.name, &from, &to) };
        changed.into_iter().map(move |change| change + restored)
    });
    changes.collect()
}
