//! `on_outcome`: the targets of outcome jobs.

use std::collections::BTreeMap;
use std::time::Duration;

use dripfeed_bucket::{BucketSettings, OnOutcome, OutcomeTarget};
use dripfeed_job::{BucketName, duration, size};

use crate::settings::read::Reader;

/// Who finds that an outcome job was submitted before finds it by its idempotency key, also where the job has ended.
const SHORTEST_KEYS: Duration = Duration::from_mins(1);

/// What is wrong with the targets of all buckets, which have to be buckets themselves. None: a bucket with which
/// something is wrong.
pub(super) fn check(reader: &mut Reader<'_>, buckets: &BTreeMap<&BucketName, Option<&BucketSettings>>) {
    for (name, settings) in buckets {
        let Some(settings) = settings.filter(|settings| !settings.on_outcome.is_empty()) else { continue };
        let path = ["buckets".into(), name.as_str().into(), "on_outcome".into()];
        // Such as an unknown outcome, without which none may be left.
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
                Some(Some(into)) if into.keep.idempotency_keys < SHORTEST_KEYS => {
                    let shortest = duration::show(SHORTEST_KEYS);
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
