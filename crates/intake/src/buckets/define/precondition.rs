//! Checks `If-Match` and `If-None-Match` of a definition.

use dripfeed_bucket::{Bucket, BucketError, Definition};

use crate::buckets::version;
use crate::problem::Problem;
use crate::request::preconditions::Preconditions;

/// Only the version of the definition must match, because run-time changes outlast it. A refusal names the whole ETag.
/// `known`: the definition, and its bucket if it is served.
pub(super) async fn check(
    preconditions: &Preconditions,
    known: Option<(&Definition, Option<&Bucket>)>,
) -> Result<(), Problem> {
    if preconditions.is_empty() {
        return Ok(());
    }
    let version = match known {
        Some((definition, Some(bucket))) => match bucket.census().await {
            Ok(census) => Some(version::of(bucket, Some(definition), &census.version)),
            // Another request has just stored the definition, and hasn't opened the bucket yet.
            Err(BucketError::Gone) => Some(definition.version.to_string()),
            Err(error) => return Err(error.into()),
        },
        Some((definition, None)) => Some(definition.version.to_string()),
        None => None,
    };
    preconditions.check_part("bucket", version, version::of_definition)
}
