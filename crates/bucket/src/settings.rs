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
    /// Maximum number of jobs: waiting, in flight and parked together.
    pub capacity: u64,
    pub capacity_bytes: u64,
    /// Maximum share of the effective capacity, in jobs and in bytes, for the jobs of one caller. `None`: no maximum.
    pub max_share: Option<MaxShare>,
    /// Maximum number of schedules, and maximum bytes of all their definitions.
    pub most_schedules: u64,
    pub schedules_bytes: u64,
    pub fair: Fair,
    pub leak: Leak,
    pub retry: Retry,
    /// How often a job may be delivered without ending before it is buried as poison; at least 1.
    pub deliveries: u32,
    pub keep: Keep,
    pub on_outcome: OnOutcome,
    /// Whether headers with the client's address are forwarded.
    pub client_address: ClientAddress,
    /// The durability class that a 202 response reports.
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

/// The pace and concurrency of a bucket's calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leak {
    /// `None`: as fast as the upstream answers.
    pub rate: Option<Rate>,
    /// Calls that may start at once after an idle time; at least 1.
    pub burst: u64,
    /// Further rate limits that each call must pass.
    pub tiers: PaceTiers,
    /// Whether the rate is reduced when the upstream refuses calls or is late, and then raised again. Ignored without
    /// rate and tiers.
    pub adaptive: bool,
    /// Maximum concurrent calls of each replica; at least 1.
    pub concurrency: u32,
    /// Maximum concurrent calls of all replicas together. `None`: only `concurrency` is a limit.
    pub max_in_flight: Option<u64>,
    /// Maximum time for which an upstream may throttle the bucket, and the time if the upstream specifies none.
    pub max_hold: Duration,
    pub default_hold: Duration,
}

impl BucketSettings {
    /// Maximum number and maximum bytes of one caller's jobs in the bucket, as arguments of scripts. 0: no maximum;
    /// `free`: as much as is free.
    pub(crate) fn share_of_one(&self) -> [String; 2] {
        let most = |of: u64| self.max_share.map_or_else(|| "0".to_owned(), |share| share.of(of));
        [most(self.capacity), most(self.capacity_bytes)]
    }

    /// `keep` and `on_outcome` as an argument of the scripts that end jobs.
    pub(crate) fn packed_ends(&self) -> String {
        self.keep.packed() + &self.on_outcome.packed(self.keep.failed_answer_bytes)
    }
}

impl Leak {
    /// Describes what is wrong with this rate and burst together. Returns `None` if they are valid.
    #[must_use]
    pub fn fault(rate: Option<Rate>, burst: u64) -> Option<String> {
        burst::fault(rate, burst)
    }
}

/// How long and how much data of ended jobs is retained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep {
    pub outcomes: Duration,
    pub most_outcomes: u64,
    /// Maximum bytes of all outcomes.
    pub outcomes_bytes: u64,
    /// Maximum bytes kept of the upstream's answer, in an outcome or a dead letter.
    pub answer_bytes: u64,
    /// How many of the latest failed attempts of each job are kept; 0: none.
    pub failed_attempts: u32,
    /// Maximum bytes kept of the answer to a failed attempt.
    pub failed_answer_bytes: u64,
    /// Maximum number of jobs in the bucket whose failed attempts are kept.
    pub most_failed: u64,
    /// How long an idempotency key is kept after its job has ended.
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

    /// Maximum bytes of the record of a failed attempt.
    pub(crate) const fn failed_bytes(&self) -> u64 {
        self.failed_answer_bytes + FailedAttempt::MOST_BYTES
    }

    /// How long idempotency keys are kept after the end of their jobs, in ms.
    pub(crate) fn keys_ms(&self) -> u64 {
        ms_up(self.idempotency_keys)
    }

    /// The text that keep.lua reads: 1 if the bucket waits while dead letters are full, else 0; for outcomes, then for
    /// dead letters: ms to keep them, maximum number, maximum bytes; ms to keep idempotency keys after the end of their
    /// jobs; maximum failed attempts of a job; maximum jobs with failed attempts.
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

/// What happens when a job dies while the dead letters have their maximum number or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenDeadFull {
    /// The oldest letters are deleted.
    DropOldest,
    /// The job stays in the bucket, and no jobs are taken, until there is room. Not supported by lists.
    Hold,
}
