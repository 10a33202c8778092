//! The version of a bucket, its `ETag`: `17-5f0e…`, that of the definition and that of the run-time changes. A missing
//! part is omitted; `0` if both are missing.

use std::sync::Arc;

use dripfeed_bucket::{Bucket, Definition};

use crate::intake::Intake;

const SEPARATOR: char = '-';

/// The current version, with the definition that this process knows.
pub(super) fn current(intake: &Intake, bucket: &Bucket, changes: &str) -> String {
    of(bucket, definition(intake, bucket).as_deref(), changes)
}

/// The definition that this process knows, for a bucket created over the API.
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
        (Some(definition), changes) => format!("{definition}{SEPARATOR}{changes}"),
    }
}

/// The part of a version that a new definition changes. Run-time changes outlast it.
pub(super) fn of_definition(version: &str) -> &str {
    version.split(SEPARATOR).next().unwrap_or_default()
}
