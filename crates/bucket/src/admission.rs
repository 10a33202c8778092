//! Admission of jobs into a bucket. `admit` batches submissions and calls its script; this file has its results.

pub(crate) mod add_refusals;
pub(crate) mod admission_request;
pub(crate) mod admit;
mod job_words;
pub(crate) mod parsing;
mod refuse_full;
pub(crate) mod tick;

use std::time::Duration;

use dripfeed_job::JobId;
use dripfeed_limit::Decision;
use tokio::sync::oneshot;

use crate::error::BucketError;

/// The id of the limit set by `max_share`, among the ids of policies.
pub const MAX_SHARE: &str = "max_share";

/// Receives the decision on a submission, which is made also if the receiver is dropped. Closed without a decision if
/// the process ends.
pub type PendingAdmission = oneshot::Receiver<Result<AdmissionDecision, BucketError>>;

/// An admission, and the decision of the bucket's limits.
#[derive(Clone, Debug)]
pub struct AdmissionDecision {
    pub admission: Admission,
    /// `None` if no limit applies to this submission, or another check decided first.
    pub limits: Option<Decision>,
    /// `None` if the caller is unknown, no share is set, or another check decided first.
    pub caller_share: Option<CallerShare>,
}

/// A caller's share of the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerShare {
    /// Its jobs in the bucket, including the one just accepted.
    pub jobs: u64,
    /// The maximum number of its jobs.
    pub most: u64,
}

impl AdmissionDecision {
    /// Returns the violated limits: ids of policies, and [`MAX_SHARE`].
    #[must_use]
    pub fn violated(&self) -> Vec<&str> {
        let Admission::Refused(Refused { reason, .. }) = &self.admission else { return Vec::new() };
        let policies = self.limits.iter().flat_map(Decision::violated).map(|verdict| verdict.policy.id().as_str());
        let has_its_share = match reason {
            RefusalReason::ShareUsedUp => true,
            RefusalReason::CallerLimit => {
                self.caller_share.is_some_and(|caller_share| caller_share.jobs >= caller_share.most)
            }
            _ => return Vec::new(),
        };
        policies.chain(has_its_share.then_some(MAX_SHARE)).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    Admitted(Admitted),
    Refused(Refused),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    pub id: JobId,
    /// Jobs in the bucket, including this one, and the capacity.
    pub level: u64,
    pub capacity: u64,
    /// Estimated time until delivery, at the measured rate.
    pub eta: Duration,
    /// If this job filled the bucket: the estimated time until there is room again.
    pub room_in: Option<Duration>,
    /// The idempotency key exists: this is its job, and none was added.
    pub repeated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub reason: RefusalReason,
    /// How long to wait before a retry. `None` if a retry can't succeed.
    pub retry_after: Option<Duration>,
    pub level: u64,
    pub capacity: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalReason {
    /// The bucket is full, by jobs or by bytes.
    BucketFull,
    /// The job is larger than the bucket's `capacity_bytes`.
    NeverFits,
    /// The job would expire before delivery.
    DeadlineUnreachable,
    /// The bucket has its maximum number of idempotency keys; without a key the job may still be accepted.
    IdempotencyKeysFull,
    /// The idempotency key belongs to a job with different content.
    IdempotencyConflict,
    /// A rate limit of the bucket's policies.
    CallerLimit,
    /// The caller has reached its share of the capacity; no policy refuses.
    ShareUsedUp,
}

impl RefusalReason {
    pub const ALL: [Self; 7] = [
        Self::BucketFull,
        Self::IdempotencyKeysFull,
        Self::NeverFits,
        Self::DeadlineUnreachable,
        Self::IdempotencyConflict,
        Self::CallerLimit,
        Self::ShareUsedUp,
    ];

    /// The reason's name in scripts and in the tally.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::NeverFits => "never_fits",
            Self::ShareUsedUp => MAX_SHARE,
            _ => self.code(),
        }
    }

    /// Returns the code in problems and the label in metrics; two reasons may share one.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::BucketFull => "bucket_full",
            Self::IdempotencyKeysFull => "idempotency_keys_full",
            Self::NeverFits => "body_too_large",
            Self::DeadlineUnreachable => "deadline_unreachable",
            Self::IdempotencyConflict => "idempotency_conflict",
            Self::CallerLimit | Self::ShareUsedUp => "caller_limit",
        }
    }
}
