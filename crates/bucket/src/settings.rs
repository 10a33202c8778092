//! The settings of a bucket: plain data, parsed and validated by the executable.

mod burst;
pub(crate) mod fair;
pub(crate) mod flow_bounds;
pub(crate) mod flow_tiers;
pub(crate) mod full_from;
pub(crate) mod limits;
pub(crate) mod max_share;
pub(crate) mod on_outcome;
pub(crate) mod overrides;
pub(crate) mod own_limit;
pub(crate) mod pace_tiers;
pub(crate) mod run_time_settings;
pub(crate) mod setting_kind;
pub(crate) mod worst_case;

use std::time::Duration;

use dripfeed_job::duration::ms_up;
use dripfeed_job::forward::ClientAddress;
use dripfeed_job::outcome::failed_attempt::FailedAttempt;
use dripfeed_job::{BucketName, Rate, Retry};
use dripfeed_store::Durability;

use crate::settings::fair::Fair;
use crate::settings::max_share::MaxShare;
use crate::settings::on_outcome::OnOutcome;
use crate::settings::pace_tiers::PaceTiers;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketSettings {
    pub name: BucketName,
    pub kind: Kind,
    /// Another name for the jobs key than `prefix:{bucket}:jobs`.
    pub key: Option<String>,
    /// The most jobs: waiting, in flight and parked together.
    pub capacity: u64,
    pub capacity_bytes: u64,
    /// The most of the capacity in force, in jobs and in bytes, that one caller's jobs may take. None: all of it.
    pub max_share: Option<MaxShare>,
    /// The most schedules, and bytes of all their definitions.
    pub most_schedules: u64,
    pub schedules_bytes: u64,
    pub fair: Fair,
    pub leak: Leak,
    pub retry: Retry,
    /// How often a job may be handed out without an end before it is buried as poison; at least 1.
    pub deliveries: u32,
    pub keep: Keep,
    pub on_outcome: OnOutcome,
    /// What becomes of the address that a proxied request says it came from.
    pub client_address: ClientAddress,
    /// The class that a 202 names.
    pub durability: Durability,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Stream,
    List,
}

impl Kind {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::List => "list",
        }
    }
}

/// How a bucket leaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// None: as fast as the upstream answers.
    pub rate: Option<Rate>,
    /// Calls that may come at once after a quiet time; at least 1.
    pub burst: u64,
    /// What must let a call pass besides.
    pub tiers: PaceTiers,
    /// Whether the rate goes down when the upstream refuses or is late, and up again. Without rate and tiers it means
    /// nothing.
    pub adaptive: bool,
    /// Calls under way at once, per replica; at least 1.
    pub concurrency: u32,
    /// Calls under way at once, over all replicas. None: no bound but `concurrency`.
    pub max_in_flight: Option<u64>,
    /// For how long an upstream may throttle the bucket at most, and for how long it does when it names no time.
    pub max_hold: Duration,
    pub default_hold: Duration,
}

impl BucketSettings {
    /// The most jobs that one caller may have in the bucket, and the most bytes, as the scripts take it; 0: as many as
    /// there is room for; `free`: as much as there is free room.
    pub(crate) fn share_of_one(&self) -> [String; 2] {
        let most = |of: u64| self.max_share.map_or_else(|| "0".to_owned(), |share| share.of(of));
        [most(self.capacity), most(self.capacity_bytes)]
    }

    /// What is kept, and which ends go elsewhere, as scripts that end jobs read it.
    pub(crate) fn packed_ends(&self) -> String {
        self.keep.packed() + &self.on_outcome.packed(self.keep.failed_answer_bytes)
    }
}

impl Leak {
    /// What is wrong with this rate and burst together, in a sentence; None when nothing is.
    #[must_use]
    pub fn fault(rate: Option<Rate>, burst: u64) -> Option<String> {
        burst::fault(rate, burst)
    }
}

/// How long ended work is remembered, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep {
    pub outcomes: Duration,
    pub most_outcomes: u64,
    /// Maximum bytes of all outcomes.
    pub outcomes_bytes: u64,
    /// Maximum bytes kept of the upstream's answer, in an outcome or a dead letter.
    pub answer_bytes: u64,
    /// The latest failed attempts of each job; 0: none.
    pub failed_attempts: u32,
    /// Maximum bytes kept of the answer to a failed attempt.
    pub failed_answer_bytes: u64,
    /// Maximum number of jobs in the bucket whose failed attempts are kept.
    pub most_failed: u64,
    /// How long a key is kept after its job has ended.
    pub idempotency_keys: Duration,
    pub most_idempotency_keys: u64,
    pub dead: Duration,
    pub most_dead: u64,
    /// Maximum bytes of all dead letters.
    pub dead_bytes: u64,
    pub when_dead_full: WhenDeadFull,
}

impl Keep {
    /// Maximum of `failed_attempts`, so that a script can read them.
    pub const MOST_FAILED_ATTEMPTS: u32 = 20;
    /// Maximum of `failed_answer_bytes`, for the same reason.
    pub const MOST_FAILED_ANSWER_BYTES: u64 = 16 << 10;

    /// The most bytes of a failed attempt.
    pub(crate) const fn failed_bytes(&self) -> u64 {
        self.failed_answer_bytes + FailedAttempt::MOST_BYTES
    }

    /// ms to keep idempotency keys from the end of their jobs on.
    pub(crate) fn keys_ms(&self) -> u64 {
        ms_up(self.idempotency_keys)
    }

    /// As the scripts read it (keep.lua): 1 where a full dead letter queue holds the bucket; ms to keep outcomes, the
    /// most of them and of their bytes, then the same of dead letters, and ms to keep idempotency keys from the end of
    /// their jobs on; then the most failed attempts of a job, and the most jobs that have some.
    pub(crate) fn packed(&self) -> String {
        let numbers = [
            u64::from(self.when_dead_full == WhenDeadFull::Hold),
            ms_up(self.outcomes),
            self.most_outcomes,
            self.outcomes_bytes,
            ms_up(self.dead),
            self.most_dead,
            self.dead_bytes,
            self.keys_ms(),
            self.failed_attempts.into(),
            self.most_failed,
        ];
        numbers.map(|number| number.to_string()).join(" ")
    }
}

/// What happens when there are as many dead letters as there may be, and one more job dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenDeadFull {
    /// The oldest letter is deleted.
    DropOldest,
    /// The bucket hands nothing out, and the job stays in it, until there is room. A list can't.
    Hold,
}
