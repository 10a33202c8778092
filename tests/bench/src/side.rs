//! The compared queues: their commands, paths and keys.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use tokio::process::Command;

use crate::peers;
use crate::settings::Settings;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Dripfeed,
    Floor,
    /// BullMQ behind fastify; needs `make bench-peers`.
    Bullmq,
}

impl Side {
    /// Both sides in the order of this round, so that neither is always the first.
    pub(crate) fn in_turn(round: usize) -> [Self; 2] {
        if round.is_multiple_of(2) { [Self::Dripfeed, Self::Floor] } else { [Self::Floor, Self::Dripfeed] }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Dripfeed => "/v1/buckets/bench/jobs",
            Self::Floor | Self::Bullmq => "/jobs",
        }
    }

    /// Commands whose replies add up to the number of jobs.
    pub(crate) fn level(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Dripfeed => &[&["XLEN", "dripfeed:{bench}:jobs"]],
            Self::Floor => &[&["XLEN", "jobs"]],
            Self::Bullmq => {
                &[&["LLEN", "bull:jobs:wait"], &["LLEN", "bull:jobs:active"], &["ZCARD", "bull:jobs:delayed"]]
            }
        }
    }

    /// Commands that its roles send for jobs. All others run in scripts, whose time includes theirs.
    pub(crate) fn sent(self) -> &'static [&'static str] {
        match self {
            Self::Dripfeed => &["evalsha", "eval"],
            Self::Floor => &["evalsha", "xreadgroup", "xack", "xdel"],
            Self::Bullmq => &["evalsha", "eval", "bzpopmin"],
        }
    }

    /// The command of a role. Its configuration is written to `folder`.
    pub(crate) fn role(self, role: &str, redis: &str, upstream: &str, wanted: &Wanted<'_>) -> anyhow::Result<Command> {
        let Wanted { settings, folder } = wanted;
        let last = if role == "intake" { settings.capacity.to_string() } else { upstream.to_owned() };
        let mut command = match self {
            Self::Floor => {
                let mut command = Command::new(executable("floor")?);
                command.args([role, redis, &last]);
                command
            }
            Self::Bullmq => {
                let mut command = Command::new("node");
                command.arg(peers::script(role)?).args([redis, &last]);
                command
            }
            Self::Dripfeed => {
                // A file for each role, because another role that starts at the same time could read an incomplete one.
                let (_, file) = tempfile::Builder::new().suffix(".toml").tempfile_in(folder)?.keep()?;
                fs::write(&file, settings.configuration(redis, upstream))?;
                let mut command = Command::new(executable("dripfeed")?);
                command.arg("-c").arg(file).args([role, "--until-stdin-ends"]);
                command
            }
        };
        command.env_clear();
        if self == Self::Bullmq {
            command.env("NODE_ENV", "production");
        }
        Ok(command)
    }
}

pub(crate) struct Wanted<'w> {
    pub(crate) settings: &'w Settings,
    pub(crate) folder: &'w Path,
}

/// The path of an executable that is built beside this program.
pub(crate) fn executable(name: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe().context("the path of this program")?.with_file_name(name);
    anyhow::ensure!(path.is_file(), "{} is missing: run `make bench`", path.display());
    Ok(path)
}

/// The API key of a caller.
pub(crate) fn key(caller: usize) -> String {
    format!("caller-{caller:05}")
}

pub(crate) fn other_bucket(number: usize) -> String {
    format!("tenant-{number:04}")
}

pub(crate) fn sha256(data: impl AsRef<[u8]>) -> String {
    Sha256::digest(data).iter().fold(String::new(), |mut text, byte| {
        // Writing into a String can't fail.
        _ = write!(text, "{byte:02x}");
        text
    })
}
