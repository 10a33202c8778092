//! Pace and take, in one script: a token is got before a job is read.

use std::time::{Duration, Instant};

use dripfeed_job::{Job, JobId, Unreadable};

/// What a replica got.
#[derive(Debug)]
pub enum Take {
    Jobs(Vec<Taken>),
    /// Nothing may be called now.
    Idle(Idle),
    /// The replica was declared dead: it takes and settles nothing more, and joins anew under another name.
    Fenced,
}

#[derive(Debug)]
pub struct Taken {
    pub claim: Claim,
    pub permit: Permit,
    /// An entry that is no job is buried with the reason.
    pub job: Result<Job, Unreadable>,
}

/// The right to settle one job, used up by it.
#[derive(Debug)]
pub struct Claim {
    pub(crate) id: JobId,
    pub(crate) bytes: u64,
    /// Attempts that failed before this one.
    pub(crate) failures: u32,
    pub(crate) taken: Instant,
}

impl Claim {
    #[must_use]
    pub const fn id(&self) -> JobId {
        self.id
    }

    /// Attempts that failed before this one.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }
}

/// One token of the pace: the right to one call, soon.
#[derive(Debug)]
pub struct Permit {
    pub(crate) asked: Instant,
}

impl Permit {
    /// A token spent late would bunch calls beyond the ceiling: a replica that was stopped for a while gives it back.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        self.asked.elapsed() < Duration::from_secs(1)
    }
}

/// Why nothing came, and until when it is not worth asking unless the bell rings.
#[derive(Clone, Debug)]
pub struct Idle {
    /// A new entry makes it worth asking: nothing else stands in the way.
    pub(crate) on_new: bool,
    /// The stream's last id when it was looked at.
    pub(crate) last_id: String,
    pub(crate) wait: Duration,
}
