//! The durability classes.

pub(crate) mod append_fsync;

use std::fmt;

/// What an accepted job survives, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// A crash of dripfeed's processes.
    Process,
    /// Also a crash of Redis. A power loss loses about the last second.
    Everysec,
    /// Also a power loss.
    Fsync,
    /// The loss of the master's machine.
    Replicated,
}

impl Durability {
    /// Returns the name in settings and responses.
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
