//! `If-Match` and `If-None-Match` of a definition.

use dripfeed_bucket::{Bucket, Definition};

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
        Some((definition, Some(bucket))) => {
            Some(version::of(bucket, Some(definition), &bucket.census().await?.version))
        }
        Some((definition, None)) => Some(definition.version.to_string()),
        None => None,
    };
    preconditions.check_part("bucket", version, version::of_definition)
}
