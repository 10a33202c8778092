//! Names of buckets and ids of jobs: valid in URLs, Redis keys and metric labels without escaping.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Implements serde's traits by `Display` and `FromStr`.
macro_rules! is_a_text {
    ($($name:ident),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                // Not `collect_str`, which checks each written part for characters to escape.
                serializer.serialize_str(&self.to_string())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

is_a_text!(BucketName, JobId);

const LONGEST: usize = 64;

/// The name of a bucket.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketName(Arc<str>);

#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a valid bucket name: use 1 to {LONGEST} of a-z A-Z 0-9 _ - . and begin with a letter or digit")]
pub struct BadBucketName(String);

impl BucketName {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BucketName {
    type Err = BadBucketName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let allowed = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.');
        let begins_well = text.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric);
        if begins_well && text.len() <= LONGEST && text.bytes().all(allowed) {
            Ok(Self(text.into()))
        } else {
            Err(BadBucketName(text.chars().take(LONGEST).collect()))
        }
    }
}

/// Shares the text.
impl From<&BucketName> for Arc<str> {
    fn from(name: &BucketName) -> Self {
        Self::clone(&name.0)
    }
}

impl fmt::Display for BucketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for BucketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl std::borrow::Borrow<str> for BucketName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// The id of a job, which never changes: the id of its stream entry, such as `1700000000000-0`. It consists of
/// milliseconds of the Redis clock and a sequence number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId {
    ms: u64,
    seq: u64,
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a job id, such as 1700000000000-0")]
pub struct BadJobId(String);

impl JobId {
    #[must_use]
    pub const fn new(ms: u64, seq: u64) -> Self {
        Self { ms, seq }
    }

    /// Returns when the job was accepted: milliseconds since the epoch, by the Redis clock.
    #[must_use]
    pub const fn accepted_ms(self) -> u64 {
        self.ms
    }

    /// Returns the id directly before this one, for ranges that exclude this one. Returns `None` for `0-0`.
    #[must_use]
    pub const fn previous(self) -> Option<Self> {
        match (self.ms, self.seq) {
            (0, 0) => None,
            (ms, 0) => Some(Self::new(ms - 1, u64::MAX)),
            (ms, seq) => Some(Self::new(ms, seq - 1)),
        }
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = itoa::Buffer::new();
        f.write_str(digits.format(self.ms))?;
        f.write_str("-")?;
        f.write_str(digits.format(self.seq))
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for JobId {
    type Err = BadJobId;

    /// Parses only the canonical form, so that a job has one id: not `01-0` or `+1-0`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || BadJobId(text.chars().take(48).collect());
        let (ms, seq) = text.split_once('-').ok_or_else(bad)?;
        Ok(Self::new(number(ms).ok_or_else(bad)?, number(seq).ok_or_else(bad)?))
    }
}

fn number(digits: &str) -> Option<u64> {
    let canonical = digits == "0" || digits.starts_with(|c: char| ('1'..='9').contains(&c));
    canonical.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests;
