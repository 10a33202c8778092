//! `on_outcome`: the targets of outcome jobs.

use std::collections::BTreeMap;
use std::time::Duration;

use dripfeed_bucket::{BucketSettings, OnOutcome, OutcomeTarget};
use dripfeed_job::{BucketName, duration, size};

use crate::settings::read::Reader;

/// The minimum retention of idempotency keys in a target, where they prevent that an outcome job is submitted twice.
const MIN_KEY_RETENTION: Duration = Duration::from_mins(1);

/// Checks the targets of all buckets, which must be configured buckets. `None` for a bucket with an error.
pub(super) fn check(reader: &mut Reader<'_>, buckets: &BTreeMap<&BucketName, Option<&BucketSettings>>) {
    for (name, settings) in buckets {
        let Some(settings) = settings.filter(|settings| !settings.on_outcome.is_empty()) else { continue };
        let path = ["buckets".into(), name.as_str().into(), "on_outcome".into()];
        // An unknown outcome is reported and removed, which may leave none.
        let is_reported = reader.has_errors_in(&path);
        let answer_bytes = settings.keep.failed_answer_bytes;
        if let Some(fault) = settings.on_outcome.fault(name, answer_bytes) {
            reader.error(&path, fault);
        }
        let largest = OnOutcome::largest(answer_bytes);
        for OutcomeTarget { bucket: target, outcomes } in &settings.on_outcome.targets {
            let message = match buckets.get(target).copied() {
                _ if target == *name => "a bucket can't be its own target".to_owned(),
                _ if outcomes.is_empty() && is_reported => continue,
                _ if outcomes.is_empty() => format!("the target `{target}` has no outcomes: list some, or remove it"),
                None => format!("unknown bucket `{target}`: add it, or use another one"),
                Some(Some(into)) if into.capacity_bytes < largest => {
                    let largest = size::show(largest);
                    format!(
                        "`{target}` is too small for an outcome job: raise its capacity_bytes to at least {largest}"
                    )
                }
                Some(Some(into)) if into.keep.idempotency_keys < MIN_KEY_RETENTION => {
                    let shortest = duration::show(MIN_KEY_RETENTION);
                    format!(
                        "`{target}` might get an outcome job twice: raise its keep.idempotency_keys to at least \
                            {shortest}"
                    )
                }
                Some(_) => continue,
            };
            reader.error(&path, message);
        }
    }
}
