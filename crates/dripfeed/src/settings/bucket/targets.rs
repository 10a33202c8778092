//! `on_outcome`: which ends of a bucket's jobs other buckets are given a job for.

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
                _ if target == *name => "a bucket can't be its own target: name another one".to_owned(),
                _ if outcomes.is_empty() => format!("no outcomes go to `{target}`: name some, or take it out"),
                None => format!("there is no bucket `{target}`: add it, or name another one"),
                Some(Some(bytes)) if bytes < largest => {
                    let largest = size::show(largest);
                    format!("`{target}` has no room for an outcome: raise its capacity_bytes to {largest} at least")
                }
                Some(_) => continue,
            };
            reader.error(&path, message);
        }
    }
}
