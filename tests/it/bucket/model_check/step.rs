//! The steps of a history, and their results.

use dripfeed_bucket::{CancelResult, JoinKind, RefusalReason};
use dripfeed_job::JobState;

/// Jobs are numbered in the order in which they were added to the stream, replicas in the order in which they joined.
pub type JobNumber = usize;
pub type ReplicaNumber = usize;

#[derive(Clone, Debug)]
pub enum Step {
    Admit(Vec<Offer>),
    /// A plain XADD by somebody else.
    AddByHand(Entry),
    Join(JoinKind),
    Take {
        replica: ReplicaNumber,
        most: usize,
    },
    Settle {
        replica: ReplicaNumber,
        ends: Vec<(JobNumber, End)>,
    },
    Beat(ReplicaNumber),
    Leave(ReplicaNumber),
    /// The replica is declared dead, which its process may not know.
    Die(ReplicaNumber),
    Cancel(JobNumber),
    CancelMany {
        state: Option<JobState>,
        caller: Option<char>,
    },
    Purge,
    /// Ends jobs past their deadline, as intakes and processors do periodically.
    EndOverdue,
    Replay(JobNumber),
    Forget(JobNumber),
    Pause,
    Resume,
    SetCapacity(Option<u64>),
    SetCapacityBytes(Option<u64>),
    /// In percent.
    SetMaxShare(Option<u64>),
    SetMaxInFlight(Option<u64>),
    SetBurst(Option<u64>),
    /// Jobs that were parked for an hour are due, and throttling for an hour ends.
    AnHourPasses,
}

/// A submission whose body is a repeated `letter`.
#[derive(Clone, Debug)]
pub struct Offer {
    pub letter: char,
    pub length: usize,
    pub caller: Option<char>,
    pub key: Option<u8>,
    pub delayed: bool,
    /// The job expires in a millisecond, which is before any later step.
    pub ephemeral: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    Body,
    RequestDetails,
    Unreadable,
}

/// How an attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Complete,
    RetryAtOnce,
    RetryInAnHour,
    /// The upstream throttles with a wait of 0.
    ThrottledForNothing,
    ThrottledForAnHour,
    Requeue,
    Bury {
        called: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepResult {
    Admissions(Vec<Verdict>),
    ClaimedJob(Vec<Handed>),
    Idle,
    Fenced,
    Settled,
    Alive,
    Recovered { recovered: u64, poisoned: u64 },
    Cancel(CancelResult),
    Purged(u64),
    Replay(Option<Verdict>),
    Forgotten(bool),
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Admitted { job: JobNumber, level: u64 },
    Repeated { job: JobNumber, level: u64 },
    Refused { reason: RefusalReason, level: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed {
    pub job: JobNumber,
    pub failures: u32,
    pub readable: bool,
}
