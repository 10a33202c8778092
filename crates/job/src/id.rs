//! A job's id: the id of its stream entry, for life.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// A stream entry id such as `1700000000000-0`: milliseconds of the Redis clock, and a sequence within them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId {
    ms: u64,
    seq: u64,
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is no job id: write it as the 202 gave it, such as 1700000000000-0")]
pub struct BadJobId(String);

impl JobId {
    #[must_use]
    pub const fn new(ms: u64, seq: u64) -> Self {
        Self { ms, seq }
    }

    /// When the job was accepted: milliseconds since the epoch, Redis clock.
    #[must_use]
    pub const fn accepted_ms(self) -> u64 {
        self.ms
    }

    /// The id directly before this one, for ranges that exclude this one. None for `0-0`.
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
        write!(f, "{}-{}", self.ms, self.seq)
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for JobId {
    type Err = BadJobId;

    /// Only the canonical form is read: a job has one name, so `01-0` or `+1-0` name none.
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

impl Serialize for JobId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for JobId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_as_it_was_written() {
        for text in ["0-0", "1700000000000-0", "1700000000000-17", "18446744073709551615-18446744073709551615"] {
            assert_eq!(text.parse::<JobId>().map(|id| id.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn what_is_not_canonical_is_no_id() {
        for text in ["", "-", "1", "1-", "-1", "01-0", "+1-0", "1-0-0", "1-x", "18446744073709551616-0", " 1-0"] {
            assert!(text.parse::<JobId>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn ids_sort_by_number_and_not_by_text() {
        assert!(JobId::new(9, 0) < JobId::new(10, 0));
        assert!(JobId::new(9, 9) < JobId::new(9, 10));
        assert_eq!(JobId::new(9, 0).previous(), Some(JobId::new(8, u64::MAX)));
        assert_eq!(JobId::new(0, 0).previous(), None);
    }
}
