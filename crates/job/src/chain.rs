//! Targets of a job's outcome, and the length of a chain of outcome jobs.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::names::BucketName;

/// The option value for no targets. A target bucket must not have this name.
pub const NO_TARGET: &str = "none";

/// Regular expression of a list of targets.
pub const PATTERN: &str =
    concat!("^(none|[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", "([ ]*,[ ]*[A-Za-z0-9][A-Za-z0-9_.-]{0,63}){0,15})$",);

/// Stands for all targets of the bucket in an entry.
const ALL: &str = "*";

/// The targets that a job selects among those in `on_outcome` of its bucket; empty: no outcome jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutcomeTargets(Vec<BucketName>);

#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "`{0}` is not a list of targets: use up to {most} bucket names separated by commas, or none",
    most = OutcomeTargets::MOST
)]
pub struct BadOutcomeTargets(String);

impl OutcomeTargets {
    /// The maximum number of targets of a bucket.
    pub const MOST: usize = 16;

    #[must_use]
    pub fn names(&self) -> &[BucketName] {
        &self.0
    }
}

impl FromStr for OutcomeTargets {
    type Err = BadOutcomeTargets;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == NO_TARGET {
            return Ok(Self::default());
        }
        let bad = || BadOutcomeTargets(text.chars().take(64).collect());
        let mut names: Vec<BucketName> = Vec::new();
        for name in text.split(',') {
            let name: BucketName = name.trim_matches(' ').parse().map_err(|_| bad())?;
            if names.len() == Self::MOST || name.as_str() == NO_TARGET || names.contains(&name) {
                return Err(bad());
            }
            names.push(name);
        }
        Ok(Self(names))
    }
}

impl fmt::Display for OutcomeTargets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(NO_TARGET);
        }
        for (at, name) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { "," };
            write!(f, "{separator}{name}")?;
        }
        Ok(())
    }
}

/// The outcome jobs of a job: its targets, and its position in a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// 0, or for an outcome job, one more than that of the job that ended.
    pub depth: u32,
    /// By default all targets of its bucket.
    pub targets: Option<OutcomeTargets>,
}

impl Chain {
    /// A job of this depth creates no outcome jobs, so that a cycle of buckets ends.
    pub const MOST_DEPTH: u32 = 8;

    /// Returns the field of the entry: depth and targets, or empty for the defaults.
    #[must_use]
    pub fn to_field(&self) -> String {
        match self {
            Self { depth: 0, targets: None } => String::new(),
            Self { depth, targets: None } => format!("{depth} {ALL}"),
            Self { depth, targets: Some(targets) } => format!("{depth} {targets}"),
        }
    }

    /// Parses the field. Returns `None` if it is malformed.
    #[must_use]
    pub fn from_field(text: &str) -> Option<Self> {
        let (depth, targets) = text.split_once(' ')?;
        let targets = if targets == ALL { None } else { Some(targets.parse().ok()?) };
        Some(Self { depth: depth.parse().ok()?, targets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_names_or_none() {
        for (text, shown) in [("none", "none"), ("a", "a"), ("a, b-2", "a,b-2")] {
            assert_eq!(text.parse::<OutcomeTargets>().map(|choice| choice.to_string()).as_deref(), Ok(shown));
        }
        let many = vec!["a"; 17].join(",");
        for text in ["", ",", "a,", "a b", "a,a", "a,none", "http://a/", "*", &many] {
            assert!(text.parse::<OutcomeTargets>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_chain_reads_back_from_its_field() {
        let chosen = "a,b".parse().ok();
        for chain in [Chain { depth: 3, targets: None }, Chain { depth: 0, targets: chosen }] {
            assert_eq!(Chain::from_field(&chain.to_field()), Some(chain));
        }
        assert_eq!(Chain::default().to_field(), "");
        for text in ["", "1", "x *", "1 a b"] {
            assert_eq!(Chain::from_field(text), None, "{text}");
        }
    }
}
