//! A bucket's limits.

use dripfeed_bucket::BucketLimits;
use serde_json::Value as Json;

use crate::settings::read::Reader;
use crate::settings::tree::Step;

/// `path` is the bucket's. None when something is wrong, which is reported then.
pub(super) fn read(reader: &mut Reader<'_>, path: &[Step], items: Vec<Json>) -> Option<BucketLimits> {
    let read = BucketLimits::read("limits", items);
    let reported = |error: dripfeed_limit::LoadError| {
        for error in error.faults() {
            reader.error(path, format!("{}: {}", error.place, error.message));
        }
    };
    read.map_err(reported).ok()
}
