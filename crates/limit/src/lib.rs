//! Limits: how much of what may pass in what time, for whom.
#![allow(dead_code)]

mod calendar;
mod clock;
mod consistency;
mod cost;
mod counted;
mod decision;
mod error;
mod keys;
mod leased;
mod limiter;
mod local;
pub mod lua;
mod matching;
mod outage;
mod packed;
mod plan;
mod policies;
mod policy;
mod refusals;
mod request;
mod round;
mod scope;
mod strict;
mod tally;
mod tier;
mod wait;

pub use calendar::{BadCalendar, Calendar, Unit};
pub use consistency::{Consistency, OnStoreError};
pub use cost::Cost;
pub use decision::{Decision, PolicyVerdict, TierVerdict};
pub use error::LimitError;
pub use keys::ScopeKeys;
pub use limiter::Limiter;
pub use matching::{BadMatch, Match, Template};
pub use plan::{KeyIndex, Plan};
pub use policies::{DuplicateId, Policies};
pub use policy::{BadPolicy, BadPolicyId, Mode, Policy, PolicyId, PolicySettings};
pub use request::Request;
pub use scope::{BadKeyPart, KeyPart};
pub use tally::Counts;
pub use tier::{Align, BadTier, Kind, Tier};
pub use wait::Wait;

#[cfg(test)]
mod tests;
