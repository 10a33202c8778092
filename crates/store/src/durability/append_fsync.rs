use std::fmt;

/// When Redis flushes its append-only file to the disk (`appendfsync`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendFsync {
    /// Before each reply.
    Always,
    /// Once a second.
    Everysec,
    /// When the operating system does.
    No,
}

impl AppendFsync {
    /// Reads the value of `CONFIG GET appendfsync`.
    pub(crate) fn parse(value: &str) -> Option<Self> {
        match value {
            "always" => Some(Self::Always),
            "everysec" => Some(Self::Everysec),
            "no" => Some(Self::No),
            _ => None,
        }
    }
}

impl fmt::Display for AppendFsync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Always => "always",
            Self::Everysec => "everysec",
            Self::No => "no",
        })
    }
}
