//! What a caller is told about a submission.

use std::time::Duration;

use dripfeed_job::JobId;
use dripfeed_limit::Decision;

/// An admission, and what the bucket's limits say.
#[derive(Clone, Debug)]
pub struct Judgement {
    pub admission: Admission,
    /// None: no limit is for this submission, or something else decided before.
    pub limits: Option<Decision>,
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
    pub reason: Reason,
    /// How long to wait before it is worth asking again; None when waiting doesn't help.
    pub retry_after: Option<Duration>,
    pub level: u64,
    pub capacity: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No room, by jobs or by bytes.
    BucketFull,
    /// The job is larger than all the bytes the bucket may hold.
    NeverFits,
    /// The job would leak after its own deadline.
    DeadlineUnreachable,
    /// The idempotency key names a job with another body.
    IdempotencyConflict,
    /// A limit for the caller, or for what else the bucket's policies count by.
    CallerLimit,
}

impl Reason {
    pub const ALL: [Self; 5] =
        [Self::BucketFull, Self::NeverFits, Self::DeadlineUnreachable, Self::IdempotencyConflict, Self::CallerLimit];

    /// What the scripts and the tally call it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::NeverFits => "never_fits",
            _ => self.code(),
        }
    }

    /// The code in problems and the label in metrics.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::BucketFull => "bucket_full",
            Self::NeverFits => "body_too_large",
            Self::DeadlineUnreachable => "deadline_unreachable",
            Self::IdempotencyConflict => "idempotency_conflict",
            Self::CallerLimit => "caller_limit",
        }
    }
}
