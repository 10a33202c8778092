//! The states of a job.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::outcome::Ending;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobState {
    /// In the bucket, not claimed yet.
    Waiting,
    /// Claimed by a replica.
    InFlight,
    /// Accepted, and not called before its due time.
    Parked,
    Ended(Ending),
}

impl JobState {
    pub const ALL: [Self; 7] = [
        Self::Waiting,
        Self::InFlight,
        Self::Parked,
        Self::Ended(Ending::Delivered),
        Self::Ended(Ending::Dead),
        Self::Ended(Ending::Expired),
        Self::Ended(Ending::Cancelled),
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::InFlight => "in_flight",
            Self::Parked => "parked",
            Self::Ended(ending) => ending.as_str(),
        }
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a job state: use waiting, in_flight, parked, delivered, dead, expired or cancelled")]
pub struct BadState(String);

impl FromStr for JobState {
    type Err = BadState;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| BadState(text.chars().take(48).collect()))
    }
}
