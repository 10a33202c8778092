//! The durability classes.

pub(crate) mod append_fsync;

use std::fmt;

/// What an accepted job survives, from the least on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// The death of our own processes.
    Process,
    /// The death of Redis too; a power loss costs about the last second.
    Everysec,
    /// A power loss too.
    Fsync,
    /// The loss of the master's machine.
    Replicated,
}

impl Durability {
    /// As settings and responses name it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Everysec => "everysec",
            Self::Fsync => "fsync",
            Self::Replicated => "replicated",
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
