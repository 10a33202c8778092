//! `on_outcome`: the targets of outcome jobs.

use std::collections::BTreeMap;

use dripfeed_bucket::{BucketSettings, OnOutcome, OutcomeTarget};
use dripfeed_job::{BucketName, size};

use crate::settings::read::Reader;

/// What is wrong with the targets of all buckets, which have to be buckets themselves. None: a bucket with which
/// something is wrong.
pub(super) fn check(reader: &mut Reader<'_>, buckets: &BTreeMap<&BucketName, Option<&BucketSettings>>) {
    for (name, settings) in buckets {
        let Some(settings) = settings.filter(|settings| !settings.on_outcome.is_empty()) else { continue };
        let path = ["buckets".into(), name.as_str().into(), "on_outcome".into()];
        let answer_bytes = settings.keep.failed_answer_bytes;
        if let Some(fault) = settings.on_outcome.fault(name, answer_bytes) {
            reader.error(&path, fault);
        }
        let largest = OnOutcome::largest(answer_bytes);
        for OutcomeTarget { bucket: target, outcomes } in &settings.on_outcome.targets {
            let room = buckets.get(target).map(|target| target.map(|target| target.capacity_bytes));
            let message = match room {
                _ if target == *name => "a bucket can't be its own target".to_owned(),
                _ if outcomes.is_empty() => format!("the target `{target}` has no outcomes: list some, or remove it"),
                None => format!("unknown bucket `{target}`: add it, or use another one"),
                Some(Some(bytes)) if bytes < largest => {
                    let largest = size::show(largest);
                    format!(
                        "`{target}` is too small for an outcome job: raise its capacity_bytes to at least {largest}"
                    )
                }
                Some(_) => continue,
            };
            reader.error(&path, message);
        }
    }
}
