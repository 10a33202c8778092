//! The priority of a job: all waiting jobs of a higher priority are called first.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Regular expression of a priority.
pub const PATTERN: &str = "^(high|normal|low)$";

/// Ordered: `Low < Normal < High`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a priority: use high, normal or low")]
pub struct BadPriority(String);

impl Priority {
    /// All priorities, the highest first.
    pub const ALL: [Self; 3] = [Self::High, Self::Normal, Self::Low];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
        }
    }
}

impl FromStr for Priority {
    type Err = BadPriority;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|priority| priority.as_str() == text);
        named.ok_or_else(|| BadPriority(text.chars().take(16).collect()))
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Priority {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Priority {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_has_one_of_three_names_and_the_higher_one_is_greater() {
        for priority in Priority::ALL {
            assert_eq!(priority.as_str().parse(), Ok(priority));
        }
        assert!(Priority::High > Priority::Normal && Priority::Normal > Priority::Low);
        for text in ["", "High", "1", "urgent"] {
            assert!(text.parse::<Priority>().is_err(), "{text}");
        }
    }
}
