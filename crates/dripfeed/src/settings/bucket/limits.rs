//! A bucket's limits.

use dripfeed_bucket::BucketLimits;
use serde_json::Value as Json;

use crate::settings::read::Reader;
use crate::settings::tree::{self, Step};

/// `path` is the bucket's. None when something is wrong, which is reported then.
pub(super) fn read(reader: &mut Reader<'_>, path: &[Step], items: Vec<Json>) -> Option<BucketLimits> {
    let read = BucketLimits::read("limits", items);
    let reported = |error: dripfeed_limit::LoadError| {
        for error in error.faults() {
            let place = [path, &tree::steps(&error.place)].concat();
            reader.error(&place, error.message.clone());
        }
    };
    read.map_err(reported).ok()
}
