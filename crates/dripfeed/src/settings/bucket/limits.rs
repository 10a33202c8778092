//! A bucket's limits.

use dripfeed_bucket::BucketLimits;
use serde_json::Value as Json;

use crate::settings::read::{Reader, SectionPath, wording};
use crate::settings::tree;

/// `place`: of the bucket. Returns `None` after reporting an error.
pub(super) fn read(reader: &mut Reader<'_>, place: &SectionPath<'_>, items: Vec<Json>) -> Option<BucketLimits> {
    let limits = BucketLimits::read("limits", items);
    let report = |error: dripfeed_limit::LoadError| {
        for error in error.faults() {
            let path = place.of(reader.tree, &tree::steps(&error.place));
            reader.error(&path, wording::plain(&error.message, None));
        }
    };
    limits.map_err(report).ok()
}
