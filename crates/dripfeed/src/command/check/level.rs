//! Checks whether a bucket can be used, and how full it is.

use std::error::Error as _;

use dripfeed_bucket::{Bucket, BucketError};
use dripfeed_store::ErrorKind;

use crate::exit::Failure;
use crate::permissions;

/// Why a bucket can't be used.
pub(super) enum Unusable {
    Denied(String),
    /// Its key in Redis has another type.
    OtherKind(String),
}

/// Returns how full a bucket is, or why it can't be used: the ACL denies something, or its key has jobs of another
/// kind. `denied`: what a check of the ACL found, or `None` if Redis didn't allow the check.
pub(super) async fn level(
    bucket: &Bucket,
    denied: Option<Vec<String>>,
    prefix: &str,
) -> Result<Result<String, Unusable>, Failure> {
    let unusable = |denied: &[String]| Unusable::Denied(permissions::report(denied, prefix));
    let mut denied = match denied {
        Some(denied) if !denied.is_empty() => return Ok(Err(unusable(&denied))),
        Some(_) => Vec::new(),
        None => bucket.denied_in_scripts().await?,
    };
    match bucket.census().await {
        Ok(_) if !denied.is_empty() => Ok(Err(unusable(&denied))),
        Ok(census) => Ok(Ok(format!("{} of {} jobs", census.level, census.capacity))),
        Err(BucketError::Store(error)) if error.kind() == ErrorKind::Denied => {
            let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            denied.push(cause);
            Ok(Err(unusable(&denied)))
        }
        Err(
            error @ (BucketError::OtherKind { .. } | BucketError::ForeignType { .. } | BucketError::WrongTypes { .. }),
        ) => Ok(Err(Unusable::OtherKind(error.to_string()))),
        Err(error) => Err(error.into()),
    }
}
