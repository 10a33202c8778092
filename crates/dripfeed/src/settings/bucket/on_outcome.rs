//! `on_outcome`: which ends of a bucket's jobs other buckets are given a job for.

use std::collections::BTreeMap;

use dripfeed_bucket::{OnOutcome, OutcomeTarget};
use dripfeed_job::{BucketName, size};

use super::ConfiguredBucket;
use super::section::{Section, TargetSection};
use crate::settings::read::Reader;

pub(super) fn of(section: &Section) -> OnOutcome {
    let target = |TargetSection { bucket, outcomes }: &TargetSection| OutcomeTarget {
        bucket: bucket.clone(),
        outcomes: outcomes.clone(),
    };
    OnOutcome {
        targets: section.on_outcome.iter().map(target).collect(),
        most: section.keep.most_outbox,
        bytes: section.keep.outbox_bytes,
    }
}

/// What is wrong with the targets of all buckets, which have to be buckets themselves.
pub(in crate::settings) fn check(reader: &mut Reader<'_>, buckets: &BTreeMap<BucketName, Option<ConfiguredBucket>>) {
    for (name, bucket) in buckets {
        let Some(ConfiguredBucket { settings, .. }) = bucket else { continue };
        let path = ["buckets".into(), name.as_str().into(), "on_outcome".into()];
        if let Some(fault) = settings.on_outcome.fault(name, &settings.keep) {
            reader.error(&path, fault);
        }
        let largest = OnOutcome::largest(&settings.keep);
        for OutcomeTarget { bucket: target, outcomes } in &settings.on_outcome.targets {
            let room = buckets.get(target).map(|target| target.as_ref().map(|target| target.settings.capacity_bytes));
            let message = match room {
                _ if target == name => "a bucket can't be its own target: name another one".to_owned(),
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
