//! What is compared: its commands, and where it has what.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use tokio::process::Command;

use crate::peers;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Dripfeed,
    Floor,
    /// Behind fastify: `make bench-peers`.
    Bullmq,
}

/// Of the bucket, where it isn't as in most rows.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) capacity: u64,
    pub(crate) durability: &'static str,
    /// Calls a second, and at once.
    pub(crate) rate: Option<(u64, u64)>,
    /// API keys, each of a caller.
    pub(crate) keys: usize,
    /// Three tiers for each value of `x-caller`.
    pub(crate) limits: bool,
    /// Further buckets, by the names of [`other_bucket`].
    pub(crate) others: usize,
    /// Traces go to the upstream, one of a hundred.
    pub(crate) traces: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            capacity: 100_000_000,
            durability: "process",
            rate: None,
            keys: 0,
            limits: false,
            others: 0,
            traces: false,
        }
    }
}

/// None refuses anything at the load of these rows.
const TIERS: &str = r#"
[[buckets.bench.limits]]
id = "each"
key = ["header:x-caller"]
tiers = [
    { kind = "bucket", rate = "100000/s", burst = 100000 },
    { kind = "sliding", limit = 10000000, period = "1m" },
    { kind = "fixed", limit = 1000000000, period = "1d" },
]
"#;

impl Side {
    /// In the order of this round: neither is always the first.
    pub(crate) fn in_turn(round: usize) -> [Self; 2] {
        if round.is_multiple_of(2) { [Self::Dripfeed, Self::Floor] } else { [Self::Floor, Self::Dripfeed] }
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Dripfeed => "/v1/buckets/bench/jobs",
            Self::Floor | Self::Bullmq => "/jobs",
        }
    }

    /// Commands whose answers add up to its jobs.
    pub(crate) fn level(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Dripfeed => &[&["XLEN", "dripfeed:{bench}:jobs"]],
            Self::Floor => &[&["XLEN", "jobs"]],
            Self::Bullmq => {
                &[&["LLEN", "bull:jobs:wait"], &["LLEN", "bull:jobs:active"], &["ZCARD", "bull:jobs:delayed"]]
            }
        }
    }

    /// Commands that its roles send for jobs. All others run in scripts, whose time has theirs.
    pub(crate) fn sent(self) -> &'static [&'static str] {
        match self {
            Self::Dripfeed => &["evalsha", "eval"],
            Self::Floor => &["evalsha", "xreadgroup", "xack", "xdel"],
            Self::Bullmq => &["evalsha", "eval", "bzpopmin"],
        }
    }

    /// A role over this Redis; `folder` gets its configuration.
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
                // A file for each role: another one that starts at the same time would read half of it.
                let (_, file) = tempfile::Builder::new().suffix(".toml").tempfile_in(folder)?.keep()?;
                fs::write(&file, configuration(redis, upstream, settings))?;
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

/// Built beside this program.
pub(crate) fn executable(name: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe().context("the path of this program")?.with_file_name(name);
    anyhow::ensure!(path.is_file(), "{} is missing: run `make bench`", path.display());
    Ok(path)
}

/// What a caller sends to be known.
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

fn configuration(redis: &str, upstream: &str, settings: &Settings) -> String {
    let Settings { capacity, durability, rate, keys, limits, others, traces } = settings;
    let rate = rate.map_or(String::new(), |(rate, burst)| format!("rate = \"{rate}/s\"\nburst = {burst}\n"));
    let mut text = format!(
        "[redis]\nurl = \"{redis}\"\ndurability = \"{durability}\"\n\
         [intake]\nlisten = \"127.0.0.1:0\"\n[processor]\nlisten = \"127.0.0.1:0\"\n\
         [buckets.bench]\nupstream = \"{upstream}\"\ncapacity = {capacity}\ncapacity_bytes = \"1000GiB\"\n\
         [buckets.bench.leak]\nconcurrency = 200\n{rate}"
    );
    if *limits {
        text += TIERS;
    }
    if *traces {
        text += &format!("[trace]\nendpoint = \"{upstream}\"\nsampling = 0.01\n");
    }
    for number in 0..*others {
        text += &format!("[buckets.{}]\nupstream = \"{upstream}\"\n", other_bucket(number));
    }
    for caller in 0..*keys {
        text += &format!("[[keys]]\nid = \"{caller}\"\nsha256 = \"{}\"\nscopes = [\"submit\"]\n", sha256(key(caller)));
    }
    text
}
