//! Errors as gRPC status. Internal texts are not shown.

use std::error::Error;
use std::sync::Arc;

use dripfeed_auth::KeyRegistryError;
use dripfeed_bucket::BucketError;
use dripfeed_limit::{LimitError, RegistryError};
use dripfeed_store::ErrorKind;
use tonic::Status;

/// Whether the key is valid isn't known.
pub(crate) fn unread_key(error: &KeyRegistryError) -> Status {
    match error {
        KeyRegistryError::Store(error) => unread_bucket(&BucketError::Store(Arc::clone(error))),
        KeyRegistryError::Reply(_) => {
            tracing::error!(error = error as &dyn Error, "API keys can't be read");
            Status::internal("internal error; see the intake's log")
        }
    }
}

pub(crate) fn unread_bucket(error: &BucketError) -> Status {
    match error {
        BucketError::Store(store) if !store.is_transient() => {
            tracing::error!(error = error as &dyn Error, "a call failed: Redis returned an error");
            Status::unavailable("Redis is unavailable; retry later")
        }
        BucketError::Store(_) | BucketError::Changing => Status::unavailable("Redis is unavailable; retry later"),
        BucketError::Gone => Status::not_found("the bucket was deleted"),
        BucketError::Suspended => Status::unavailable("the bucket is suspended for its deletion; retry later"),
        BucketError::Closing => Status::unavailable("the intake is shutting down; retry, another intake will answer"),
        BucketError::OtherKind { .. } | BucketError::ForeignType { .. } => {
            tracing::error!(error = error as &dyn Error, "a bucket can't be read");
            Status::unavailable("the key of the bucket's jobs has another type in Redis; see the intake's log")
        }
        BucketError::Reply { .. }
        | BucketError::Cursor(_)
        | BucketError::Unsupported(_)
        | BucketError::Edit(_)
        | BucketError::Turns { .. }
        | BucketError::OutcomeTarget(_)
        | BucketError::OutboxFull
        | BucketError::Partly { .. } => {
            tracing::error!(error = error as &dyn Error, "a bucket can't be read");
            Status::internal("internal error; see the intake's log")
        }
    }
}

pub(crate) fn refusal(error: &RegistryError) -> Status {
    match error {
        RegistryError::Unread => Status::unavailable("the rules are not loaded from Redis yet; retry later"),
        RegistryError::Closed => Status::unavailable("the intake is shutting down; retry, another intake will answer"),
        RegistryError::ManyServices(_) | RegistryError::ManyBytes(_) => {
            Status::resource_exhausted(format!("{error}: delete some first"))
        }
        RegistryError::Store(store) if store.kind() == ErrorKind::Full => {
            Status::resource_exhausted("Redis is out of memory; nothing was stored")
        }
        RegistryError::Store(store) => {
            if !store.is_transient() {
                tracing::error!(error = error as &dyn Error, "a call failed: Redis returned an error");
            }
            Status::unavailable("Redis is unavailable; retry later")
        }
        RegistryError::Limit(LimitError::Unavailable { .. }) => {
            Status::unavailable("the limit can't be checked while Redis is unavailable; retry later")
        }
        RegistryError::Limit(_) => {
            tracing::error!(error = error as &dyn Error, "rate-limit check failed");
            Status::internal("internal error; see the intake's log")
        }
    }
}
