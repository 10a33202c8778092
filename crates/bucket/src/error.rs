//! Errors of bucket operations.

use std::sync::Arc;

use dripfeed_job::BucketName;
use dripfeed_store::StoreError;
use thiserror::Error;

use crate::inspect::pagination::BadCursor;

/// Cheap to clone: one failed call may be the end of many requests.
#[derive(Clone, Debug, Error)]
pub enum BucketError {
    #[error(transparent)]
    Store(Arc<StoreError>),
    /// A list can't do what a stream can.
    #[error("a bucket of kind `list` doesn't support {0}; use kind `stream`")]
    Unsupported(&'static str),
    /// Of a bucket whose jobs don't take such turns.
    #[error("fair.by of this bucket is `{by}`: {why}")]
    Turns { by: &'static str, why: &'static str },
    #[error("`{0}` is not a target in on_outcome of this bucket; use its targets, or none")]
    OutcomeTarget(BucketName),
    /// Its end would be reported to another bucket, and no more can wait for that.
    #[error("the outbox of this bucket is full: outcome jobs wait for room in their target buckets")]
    OutboxFull,
    #[error(transparent)]
    Cursor(#[from] BadCursor),
    /// A script answered something else than its Rust side reads: a bug, or somebody else's data under our keys.
    #[error("could not parse the reply of the script `{script}`: {what}")]
    Reply { script: &'static str, what: String },
    /// Settings were changed again each time that they were known.
    #[error("the settings of the bucket are changing too fast; retry")]
    Changing,
    /// Of a bucket created over the API.
    #[error("the bucket was deleted or created again, or isn't ready yet")]
    Gone,
    /// The bucket is closing: the process is about to end.
    #[error("the bucket is closing")]
    Closing,
}

impl From<StoreError> for BucketError {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}
