//! The name under which a replica is a member of a bucket's group.

use std::fmt;

/// A replica's name in the group, unique per process and life.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Consumer(String);

impl Consumer {
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
