//! The version of a bucket, its `ETag`: `17-5f0e…`, of the definition and of the run-time changes. A part that isn't
//! there is left out; `0`: neither is.

use std::sync::Arc;

use dripfeed_bucket::{Bucket, Definition};

use crate::intake::Intake;

const BETWEEN: char = '-';

/// As this process knows the definition.
pub(super) fn current(intake: &Intake, bucket: &Bucket, changes: &str) -> String {
    of(bucket, definition(intake, bucket).as_deref(), changes)
}

/// The same: of a bucket that was created over the API.
pub(super) fn definition(intake: &Intake, bucket: &Bucket) -> Option<Arc<Definition>> {
    let definitions = intake.definitions().filter(|_| bucket.incarnation().is_some());
    definitions.and_then(|definitions| definitions.get(bucket.name().as_str()))
}

/// `changes`: the version of the run-time changes, empty without any.
pub(super) fn of(bucket: &Bucket, definition: Option<&Definition>, changes: &str) -> String {
    let definition = definition.filter(|definition| bucket.incarnation() == Some(definition.incarnation));
    match (definition.map(|definition| definition.version), changes) {
        (None, "") => "0".to_owned(),
        (None, changes) => changes.to_owned(),
        (Some(definition), "") => definition.to_string(),
        (Some(definition), changes) => format!("{definition}{BETWEEN}{changes}"),
    }
}

/// Of a version the part that a definition replaces: run-time changes outlast it.
pub(super) fn of_definition(version: &str) -> &str {
    version.split(BETWEEN).next().unwrap_or_default()
}
