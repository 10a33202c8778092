//! The id of a schedule within its bucket.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::names::BucketName;

/// Has the form of a bucket name, so that it is safe in URLs, Redis keys and idempotency keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScheduleId(BucketName);

#[derive(Debug, Error, PartialEq, Eq)]
#[error("not a valid schedule id: use 1 to 64 of a-z A-Z 0-9 _ - . and begin with a letter or digit")]
pub struct BadScheduleId;

impl ScheduleId {
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl FromStr for ScheduleId {
    type Err = BadScheduleId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self).map_err(|_| BadScheduleId)
    }
}

impl fmt::Display for ScheduleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for ScheduleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
