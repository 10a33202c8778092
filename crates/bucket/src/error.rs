//! Errors of bucket operations.

use std::sync::Arc;

use dripfeed_job::{BucketName, pluralize};
use dripfeed_store::{Certainty, StoreError};
use thiserror::Error;

use crate::inspect::pagination::BadCursor;

/// An error of a bucket. Cheap to clone, because one failed call may fail many requests.
#[derive(Clone, Debug, Error)]
pub enum BucketError {
    #[error(transparent)]
    Store(Arc<StoreError>),
    /// A list doesn't support this.
    #[error("a bucket of kind `list` doesn't support {0}; use kind `stream`")]
    Unsupported(&'static str),
    #[error("this dead letter can't be replayed with another payload: {0}; replay it unchanged")]
    Edit(String),
    /// The bucket doesn't have this kind of fair queuing.
    #[error("fair.by of this bucket is `{by}`: {why}")]
    Turns { by: &'static str, why: &'static str },
    #[error("`{0}` is not a target in on_outcome of this bucket; use its targets, or none")]
    OutcomeTarget(BucketName),
    /// The outbox has no room for the job's outcome jobs.
    #[error("the outbox of this bucket is full: outcome jobs wait for room in their target buckets")]
    OutboxFull,
    /// The key of the jobs contains jobs of the other kind. Nothing was read or written.
    #[error(
        "the key {key} holds a {kind} with {}; move them with `dripfeed drain {bucket} --into OTHER`, or give \
         the bucket another `key`",
        pluralize(*jobs, "job")
    )]
    OtherKind { bucket: BucketName, key: String, kind: &'static str, jobs: u64 },
    /// The key of the jobs has a type that no bucket has. Nothing was read or written.
    #[error("the key {key} has a type that dripfeed doesn't write: delete it, or give the bucket another `key`")]
    ForeignType { bucket: BucketName, key: String },
    /// Other keys of the bucket have a wrong type.
    #[error("{keys}: rename or delete what somebody has written there by hand")]
    WrongTypes { keys: String, source: Arc<StoreError> },
    #[error(transparent)]
    Cursor(#[from] BadCursor),
    /// The reply of a script can't be parsed: a bug, or foreign data in our keys.
    #[error("could not parse the reply of the script `{script}`: {what}")]
    Reply { script: &'static str, what: String },
    /// Settings were changed again at each retry.
    #[error("the settings of the bucket are changing too fast; retry")]
    Changing,
    /// Only for a bucket created over the API.
    #[error("the bucket was deleted or created again, or isn't ready yet")]
    Gone,
    /// A deletion has begun and isn't decided yet. If it was interrupted, the bucket may open again.
    #[error("the bucket is suspended for its deletion, which isn't decided; retry")]
    Suspended,
    /// A bulk operation failed after some items.
    #[error("failed after {done} were done: {error}")]
    Partly { done: u64, error: Arc<Self> },
    /// The process is shutting down.
    #[error("the bucket is closing")]
    Closing,
}

impl BucketError {
    /// The error of a bulk operation after `done` items.
    pub(crate) fn after(self, done: u64) -> Self {
        if done == 0 { self } else { Self::Partly { done, error: Arc::new(self) } }
    }

    /// Returns how many items were done before the error.
    #[must_use]
    pub const fn done(&self) -> u64 {
        match self {
            Self::Partly { done, .. } => *done,
            _ => 0,
        }
    }

    /// Returns whether the failed operation may have been done, or more of a bulk operation than [`Self::done`],
    /// because Redis didn't say.
    #[must_use]
    pub fn may_be_done(&self) -> bool {
        match self {
            Self::Store(error) | Self::WrongTypes { source: error, .. } => error.certainty() == Certainty::Unknown,
            Self::Partly { error, .. } => error.may_be_done(),
            Self::Reply { .. } => true,
            _ => false,
        }
    }
}

impl From<StoreError> for BucketError {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}
