//! The group of a job, for fair queuing between the tenants of one caller.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

const LONGEST: usize = 64;

/// Regular expression of a group.
pub const PATTERN: &str = "^[!-~]{1,64}$";

/// 1 to 64 visible ASCII characters.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Group(String);

#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a valid group: use 1 to {LONGEST} visible ASCII characters")]
pub struct BadGroup(String);

impl Group {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Group {
    type Err = BadGroup;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if (1..=LONGEST).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_graphic()) {
            return Ok(Self(text.to_owned()));
        }
        Err(BadGroup(text.chars().take(LONGEST).collect()))
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_visible_ascii_of_bounded_length() {
        for text in ["a", "tenant-17", "a/b:c", &"x".repeat(64)] {
            assert_eq!(text.parse::<Group>().map(|group| group.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "a b", "a\n", "ä", &"x".repeat(65)] {
            assert!(text.parse::<Group>().is_err(), "{text}");
        }
    }
}
