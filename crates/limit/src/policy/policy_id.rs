//! The id of a policy.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use thiserror::Error;

/// The id of a policy, in Redis keys, answers and headers: letters, digits, `.`, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct PolicyId(String);

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a valid id: use 1 to 64 letters, digits, dots, underscores or hyphens")]
pub struct BadPolicyId(String);

impl FromStr for PolicyId {
    type Err = BadPolicyId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let sound = (1..=64).contains(&text.len())
            && text.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-'));
        if sound { Ok(Self(text.to_owned())) } else { Err(BadPolicyId(text.chars().take(64).collect())) }
    }
}

impl PolicyId {
    /// The id of all paces.
    pub(super) fn pace() -> Self {
        Self("pace".to_owned())
    }

    /// A placeholder for an id that can't be parsed; never used.
    pub(crate) fn placeholder() -> Self {
        Self("?".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PolicyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
