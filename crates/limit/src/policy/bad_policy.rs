//! Faults of a policy, with their places.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use thiserror::Error;

use crate::policy::scope::KeyPart;
use crate::policy::tier::LEAST_LEASED;

/// Maximum number of tiers, as each one costs time in scripts and bytes in each scope.
pub(crate) const MOST_TIERS: usize = 16;
pub(super) const SCOPES: RangeInclusive<u64> = 1..=1 << 24;

/// All faults of a policy.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub struct BadPolicy {
    faults: Vec<PolicyFault>,
}

impl BadPolicy {
    pub(super) const fn new(faults: Vec<PolicyFault>) -> Self {
        Self { faults }
    }

    /// Returns the faults, at least one.
    pub fn faults(&self) -> &[PolicyFault] {
        &self.faults
    }
}

impl fmt::Display for BadPolicy {
    /// One fault per line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.faults.iter().map(|fault| format!("{}: {fault}", fault.place()));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}

/// A fault of a policy; [`PolicyFault::place`] is its place.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PolicyFault {
    #[error("the policy has no tiers: give at least one")]
    NoTiers,
    #[error("{0} tiers: use at most {MOST_TIERS}")]
    ManyTiers(usize),
    #[error("a cost of {cost} never passes this tier, which allows at most {most} at once")]
    CostNeverPasses { tier: usize, cost: u64, most: u64 },
    #[error("the path template of `match` has no variable `{name}`")]
    UnknownVariable { part: usize, name: String },
    #[error("windows can't be spread by `{spread}`, which isn't part of the policy's key")]
    SpreadNotInKey { tier: usize, spread: KeyPart },
    #[error("consistency leased doesn't support the kind `{kind}`: use bucket or fixed, or consistency strict")]
    NotLeasable { tier: usize, kind: &'static str },
    #[error(
        "a burst of {burst} is too small for consistency leased, which reserves most of it: use at least {LEAST_LEASED}"
    )]
    SmallLeasedBurst { tier: usize, burst: u64 },
    #[error(
        "consistency async doesn't support the kind `{kind}`: use bucket, gate, fixed or sliding, or consistency strict"
    )]
    NotAsync { tier: usize, kind: &'static str },
    #[error("`backlog` is checked in Redis only: use consistency strict, and on_store_error closed or open")]
    BacklogNotLocal { tier: usize },
    #[error("max_scopes is out of range: use 1 to {}", *SCOPES.end())]
    Scopes,
    #[error("a sync of {} is out of range: use 10ms to 1m", dripfeed_job::duration::show(*.0))]
    Sync(Duration),
}

impl PolicyFault {
    /// Returns the member with the fault.
    pub fn place(&self) -> String {
        match self {
            Self::NoTiers | Self::ManyTiers(_) => "tiers".to_owned(),
            Self::CostNeverPasses { tier, .. }
            | Self::SpreadNotInKey { tier, .. }
            | Self::NotLeasable { tier, .. }
            | Self::SmallLeasedBurst { tier, .. }
            | Self::NotAsync { tier, .. }
            | Self::BacklogNotLocal { tier } => format!("tiers[{tier}]"),
            Self::UnknownVariable { part, .. } => format!("key[{part}]"),
            Self::Scopes => "max_scopes".to_owned(),
            Self::Sync(_) => "sync".to_owned(),
        }
    }
}
