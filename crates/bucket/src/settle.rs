//! Settle: the end of an attempt, by the replica that made it.

use std::time::Duration;

use dripfeed_job::outcome::AnswerBody;

/// What is to become of a claimed job.
#[derive(Clone, Debug)]
pub enum Settlement {
    Complete { status: u16, answer: Option<AnswerBody> },
    /// The attempt failed: due again after the wait.
    Retry { after: Duration },
    /// The upstream asks everyone to wait: the bucket holds, the job is due then, the attempt isn't counted.
    Hold { wait: Option<Duration> },
    /// Not called, or not to the end, by our own doing: due at once for any replica, the attempt isn't counted.
    GiveBack,
    Bury { reason: String, status: Option<u16>, answer: Option<AnswerBody> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Recorded,
    /// The replica had been declared dead: another one has the job, nothing was changed.
    Fenced,
}
