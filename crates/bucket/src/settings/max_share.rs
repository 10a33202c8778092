//! The maximum share of a bucket's capacity for the jobs of one caller.

use std::fmt;
use std::str::FromStr;

use dripfeed_job::Share;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

const FREE: &str = "free";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaxShare {
    /// A fixed part of the capacity.
    Part(Share),
    /// As much as is free: one caller that floods the bucket gets half of it, two get a third each.
    Free,
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a share: use a percentage of the capacity from 0.01% to 100%, such as 25%, or {FREE}")]
pub struct BadMaxShare(String);

impl MaxShare {
    /// The share of `whole` as an argument of scripts (caller_share.lua).
    pub(crate) fn of(self, whole: u64) -> String {
        match self {
            Self::Part(share) => share.of(whole).max(1).to_string(),
            Self::Free => FREE.to_owned(),
        }
    }
}

impl FromStr for MaxShare {
    type Err = BadMaxShare;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == FREE {
            return Ok(Self::Free);
        }
        text.parse().map(Self::Part).map_err(|_| BadMaxShare(text.chars().take(48).collect()))
    }
}

impl fmt::Display for MaxShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part(share) => share.fmt(f),
            Self::Free => f.write_str(FREE),
        }
    }
}

impl Serialize for MaxShare {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MaxShare {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_part_or_free() {
        for text in ["25%", "12.5%", "free"] {
            assert_eq!(text.parse::<MaxShare>().map(|share| share.to_string()).as_deref(), Ok(text));
        }
        for text in ["", "25", "Free", "free ", "0%"] {
            assert!(text.parse::<MaxShare>().is_err(), "{text}");
        }
        let of = |text: &str| text.parse::<MaxShare>().map(|share| share.of(10));
        assert_eq!((of("25%"), of("1%"), of("free")), (Ok("2".into()), Ok("1".into()), Ok("free".into())));
    }
}
