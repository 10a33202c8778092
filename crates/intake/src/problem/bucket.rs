//! Refusals and errors of a bucket as problems.

use std::error::Error;
use std::time::{Duration, Instant};

use dripfeed_bucket::{BucketError, RefusalReason, Refused};
use dripfeed_store::{Certainty, ErrorKind, LogThrottle};
use http::StatusCode;

use super::{Code, Problem};

impl Problem {
    /// A refused submission.
    pub(crate) fn refused(refused: &Refused) -> Self {
        let (code, detail) = match refused.reason {
            RefusalReason::BucketFull => (Code::BucketFull, "the bucket has no room for this job; retry later"),
            RefusalReason::NeverFits => {
                (Code::BodyTooLarge, "the job is larger than the bucket's capacity_bytes; don't retry it")
            }
            RefusalReason::DeadlineUnreachable if refused.retry_after.is_none() => (
                Code::DeadlineUnreachable,
                "the job would expire before its delay is over; don't retry it: use a shorter delay or a longer \
                    lifetime",
            ),
            RefusalReason::DeadlineUnreachable => {
                (Code::DeadlineUnreachable, "the job would expire before it could be delivered at the current rate")
            }
            RefusalReason::IdempotencyKeysFull => (
                Code::IdempotencyKeysFull,
                "the bucket is at its maximum number of idempotency keys (keep.most_idempotency_keys); retry later, or \
                    without a key",
            ),
            RefusalReason::IdempotencyConflict => (
                Code::IdempotencyConflict,
                "a job with this idempotency key has another method, path or body; use another key",
            ),
            RefusalReason::CallerLimit => {
                (Code::CallerLimit, "a rate limit of the bucket refused the job; retry later")
            }
            RefusalReason::ShareUsedUp => {
                (Code::CallerLimit, "your jobs have reached the caller share of the bucket (max_share); retry later")
            }
        };
        let mut problem = Self::new(code, detail).retry_after(refused.retry_after);
        let never_passes = code.status() == StatusCode::TOO_MANY_REQUESTS && refused.retry_after.is_none();
        problem.more.retryable = never_passes.then_some(false);
        problem.more.level = Some(refused.level);
        problem.more.capacity = Some(refused.capacity);
        problem
    }

    /// For an operation on many jobs: `done` of them were handled before the error.
    fn after(mut self, done: u64) -> Self {
        self.more.outcome = Some("unknown");
        self.detail = format!("{done} were done before an error, and stay so; retry later for the others").into();
        self
    }

    pub(super) fn store(kind: ErrorKind, certainty: Certainty) -> Self {
        let (code, detail) = match (kind, certainty) {
            (ErrorKind::NoIds, _) => (
                Code::StoreUnavailable,
                "the bucket accepts no jobs: somebody added an entry with the largest possible id to one of its \
                    streams in Redis; jobs are accepted again once all in it have ended; see the intake's log",
            ),
            (ErrorKind::Full, _) => (Code::StoreFull, "nothing was stored or changed; retry later"),
            (_, Certainty::NotStored) => (Code::StoreUnavailable, "nothing was stored or changed; retry later"),
            (_, Certainty::Unknown) => (
                Code::StoreUnavailable,
                "it is unknown whether the request took effect; repeat it, with the same idempotency key if it submits \
                 jobs",
            ),
        };
        let mut problem = Self::new(code, detail).retry_after(Some(Duration::from_secs(1)));
        problem.more.outcome = Some(match certainty {
            Certainty::NotStored => "not_stored",
            Certainty::Unknown => "unknown",
        });
        problem
    }
}

/// Logs an error of Redis, unless `kind` is an outage, which the store has logged once.
pub(super) fn log(error: &(dyn Error + 'static), kind: Option<ErrorKind>) {
    static FAILURES: LogThrottle = LogThrottle::new();

    let logged = matches!(kind, Some(ErrorKind::Unreachable | ErrorKind::Timeout));
    if logged {
        tracing::debug!(error, "request failed: Redis is unavailable");
    } else if let Some(suppressed) = FAILURES.due(Instant::now()) {
        tracing::error!(error, suppressed, "request failed: Redis returned an error");
    }
}

impl From<BucketError> for Problem {
    fn from(error: BucketError) -> Self {
        match &error {
            BucketError::Store(store) => {
                log(&error, Some(store.kind()));
                Self::store(store.kind(), store.certainty())
            }
            BucketError::Reply { .. } => {
                log(&error, None);
                Self::internal()
            }
            BucketError::Cursor(_) => Self::new(Code::BadQuery, format!("cursor: {error}")),
            BucketError::Unsupported(_)
            | BucketError::Edit(_)
            | BucketError::Turns { .. }
            | BucketError::OutcomeTarget(_) => Self::new(Code::Unsupported, error.to_string()),
            BucketError::OutboxFull => {
                Self::new(Code::Overloaded, error.to_string()).retry_after(Some(Duration::from_secs(1)))
            }
            BucketError::OtherKind { .. } | BucketError::ForeignType { .. } => {
                log(&error, None);
                let mut problem = Self::store(ErrorKind::WrongType, Certainty::NotStored);
                problem.detail =
                    "the key of the bucket's jobs has another type in Redis; nothing was stored or changed; \
                                  see the intake's log"
                        .into();
                problem.more.detail_of_read =
                    Some("the key of the bucket's jobs has another type in Redis; see the intake's log");
                problem
            }
            BucketError::WrongTypes { source, .. } => {
                log(&error, None);
                let mut problem = Self::store(source.kind(), source.certainty());
                problem.detail =
                    "a key of the bucket has another type in Redis; it is unknown whether the request took \
                    effect; an operator has to rename or delete that key: GET /v1/buckets/{bucket}/doctor and the \
                    intake's log name it"
                        .into();
                problem.more.detail_of_read = Some(
                    "a key of the bucket has another type in Redis; an operator has to rename or delete that key: GET \
                        /v1/buckets/{bucket}/doctor and the intake's log name it",
                );
                problem
            }
            BucketError::Gone => Self::unknown_bucket(),
            BucketError::Suspended => {
                let mut problem = Self::store(ErrorKind::Refused, Certainty::NotStored);
                problem.detail =
                    "the bucket is suspended for its deletion; nothing was stored or changed; retry later".into();
                problem
            }
            BucketError::Changing => Self::store(ErrorKind::Refused, Certainty::NotStored),
            BucketError::Closing => Self::draining(),
            BucketError::Partly { done, error } => Self::from(BucketError::clone(error)).after(*done),
        }
    }
}
