//! Errors as gRPC status. Texts of internal errors are logged, not sent.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use dripfeed_auth::KeyRegistryError;
use dripfeed_bucket::BucketError;
use dripfeed_limit::{LimitError, RegistryError};
use dripfeed_store::{ErrorKind, LogThrottle, StoreError};
use tonic::Status;

/// Maximum bytes of a message. It is sent as a header, in which escapes may triple it. Clients accept headers of 8 KiB;
/// with longer ones they lose the status.
const MAX_MESSAGE_BYTES: usize = 2 * 1024;

/// Cuts `detail`, which may quote the request.
pub(crate) fn invalid(detail: &str) -> Status {
    const CUT: &str = "…";

    if detail.len() <= MAX_MESSAGE_BYTES {
        return Status::invalid_argument(detail);
    }
    let end = detail.floor_char_boundary(MAX_MESSAGE_BYTES - CUT.len());
    Status::invalid_argument(format!("{}{CUT}", detail.get(..end).unwrap_or_default()))
}

/// Rate-limited, because it may happen with every call.
fn log(error: &(dyn Error + 'static), what: &str) {
    static FAILURES: LogThrottle = LogThrottle::new();

    if let Some(suppressed) = FAILURES.due(Instant::now()) {
        tracing::error!(error, suppressed, "{what}");
    }
}

/// Returns the status of a call whose key couldn't be checked.
pub(crate) fn unread_key(error: &KeyRegistryError) -> Status {
    match error {
        KeyRegistryError::Store(error) => unread_bucket(&BucketError::Store(Arc::clone(error))),
        KeyRegistryError::Reply(_) => {
            log(error, "API keys can't be read");
            Status::internal("internal error; see the intake's log")
        }
    }
}

pub(crate) fn unread_bucket(error: &BucketError) -> Status {
    match error {
        BucketError::Store(store) if !store.is_transient() => {
            log(error, "a call failed: Redis returned an error");
            Status::unavailable("Redis is unavailable; retry later")
        }
        BucketError::Store(_) | BucketError::Changing => Status::unavailable("Redis is unavailable; retry later"),
        BucketError::Gone => Status::not_found("the bucket was deleted"),
        BucketError::Suspended => Status::unavailable("the bucket is suspended for its deletion; retry later"),
        BucketError::Closing => Status::unavailable("the intake is shutting down; retry, another intake will answer"),
        BucketError::OtherKind { .. } | BucketError::ForeignType { .. } => {
            log(error, "a bucket can't be read");
            Status::unavailable("the key of the bucket's jobs has another type in Redis; see the intake's log")
        }
        BucketError::WrongTypes { .. } => {
            log(error, "a bucket can't be read");
            Status::unavailable("a key of the bucket has another type in Redis; see the intake's log")
        }
        BucketError::Reply { .. }
        | BucketError::Cursor(_)
        | BucketError::Unsupported(_)
        | BucketError::Edit(_)
        | BucketError::Turns { .. }
        | BucketError::OutcomeTarget(_)
        | BucketError::OutboxFull
        | BucketError::Partly { .. } => {
            log(error, "a bucket can't be read");
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
        RegistryError::Contended => Status::unavailable(format!("{error}; retry later")),
        RegistryError::Store(store) if store.kind() == ErrorKind::Full => {
            Status::resource_exhausted("Redis is out of memory; nothing was stored")
        }
        RegistryError::Store(store) => {
            if !store.is_transient() {
                log(error, "a call failed: Redis returned an error");
            }
            Status::unavailable("Redis is unavailable; retry later")
        }
        RegistryError::Limit(LimitError::Unavailable { source, .. }) => {
            if source.as_ref().is_some_and(|store| !store.is_transient()) {
                log(error, "rate-limit check failed: Redis returned an error");
            }
            match source.as_ref().map(StoreError::kind) {
                Some(ErrorKind::Full) => {
                    Status::resource_exhausted("the limit can't be checked while Redis is out of memory; retry later")
                }
                _ => Status::unavailable("the limit can't be checked while Redis is unavailable; retry later"),
            }
        }
        RegistryError::Limit(LimitError::ManyTiers { tiers, most }) => Status::invalid_argument(format!(
            "descriptors: they are checked against {tiers} tiers together: send fewer at once, at most {most} tiers"
        )),
        RegistryError::Limit(_) => {
            log(error, "rate-limit check failed");
            Status::internal("internal error; see the intake's log")
        }
    }
}
