//! A bucket's limits.

use dripfeed_bucket::BucketLimits;
use serde_json::Value as Json;

use crate::settings::read::{Reader, SectionPath, wording};
use crate::settings::tree;

/// `place` is the bucket's. None when something is wrong, which is reported then.
pub(super) fn read(reader: &mut Reader<'_>, place: &SectionPath<'_>, items: Vec<Json>) -> Option<BucketLimits> {
    let read = BucketLimits::read("limits", items);
    let reported = |error: dripfeed_limit::LoadError| {
        for error in error.faults() {
            let path = place.of(reader.tree, &tree::steps(&error.place));
            reader.error(&path, wording::plain(&error.message, None));
        }
    };
    read.map_err(reported).ok()
}
