//! What can happen to a bucket, and what it answers.

use dripfeed_bucket::{Cancel, Life, RefusalReason};
use dripfeed_job::JobState;

/// Jobs are known by the order in which they came into the stream, replicas by the order in which they joined.
pub type JobNumber = usize;
pub type ReplicaNumber = usize;

#[derive(Clone, Debug)]
pub enum Step {
    Admit(Vec<Offer>),
    /// Somebody else's plain XADD.
    AddByHand(Entry),
    Join(Life),
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
    /// The replica is declared dead; its process may not know.
    Die(ReplicaNumber),
    Cancel(JobNumber),
    CancelMany {
        state: Option<JobState>,
        caller: Option<char>,
    },
    Purge,
    /// What intakes and processors do periodically: jobs past their deadline end.
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
    /// What was parked or throttled for an hour is due.
    AnHourPasses,
}

/// A submission: as many bytes, all `letter`.
#[derive(Clone, Debug)]
pub struct Offer {
    pub letter: char,
    pub length: usize,
    pub caller: Option<char>,
    pub key: Option<u8>,
    pub delayed: bool,
    /// It expires in a millisecond, which is before any later step.
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
    /// The upstream asked to wait for no time at all.
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
    Cancel(Cancel),
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
