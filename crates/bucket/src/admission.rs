//! Accepting jobs: the answer to a submission.

pub(crate) mod admission_request;
pub(crate) mod admit;
pub(crate) mod parsing;
pub(crate) mod tick;

use std::time::Duration;

use dripfeed_job::JobId;
use dripfeed_limit::Decision;

/// The id of the bound that `max_share` sets, among those of policies.
pub const MAX_SHARE: &str = "max_share";

/// An admission, and what the bucket's limits say.
#[derive(Clone, Debug)]
pub struct Judgement {
    pub admission: Admission,
    /// None: no limit is for this submission, or something else decided before.
    pub limits: Option<Decision>,
    /// None: the caller isn't known, no share is in force, or something else decided before.
    pub caller_share: Option<CallerShare>,
}

/// The share of the room that a caller has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerShare {
    /// Jobs that it has in the bucket, one that was admitted just now included.
    pub jobs: u64,
    /// The most that it may have.
    pub most: u64,
}

impl Judgement {
    /// What refuses the caller: the ids of policies, and [`MAX_SHARE`].
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
    /// Jobs in the bucket, this one included, and the most it may hold.
    pub level: u64,
    pub capacity: u64,
    /// Until the job leaks, from the measured leak.
    pub eta: Duration,
    /// The idempotency key was known: this is the job it named before, nothing was added.
    pub repeated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub reason: RefusalReason,
    /// How long to wait before it is worth asking again; None when waiting doesn't help.
    pub retry_after: Option<Duration>,
    pub level: u64,
    pub capacity: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalReason {
    /// No room, by jobs or by bytes.
    BucketFull,
    /// The job is larger than all the bytes the bucket may hold.
    NeverFits,
    /// The job would leak after its own deadline.
    DeadlineUnreachable,
    /// The bucket has as many idempotency keys as it may: without one the job may still be admitted.
    IdempotencyKeysFull,
    /// The idempotency key names a job with another body.
    IdempotencyConflict,
    /// A limit for the caller, or for what else the bucket's policies count by.
    CallerLimit,
    /// The caller has its share of the room; no policy refuses.
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

    /// What the scripts and the tally call it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::NeverFits => "never_fits",
            Self::ShareUsedUp => MAX_SHARE,
            _ => self.code(),
        }
    }

    /// The code in problems and the label in metrics; two reasons may share one.
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
