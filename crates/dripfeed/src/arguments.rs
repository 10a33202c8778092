//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser};

use crate::command::Command;
use crate::settings::Layers;

/// Self-hosted HTTP job queue with a hard size limit and a global rate limit, on Redis Streams. No worker code.
#[derive(Debug, Parser)]
#[command(name = "dripfeed", version, propagate_version = true)]
#[command(disable_help_subcommand = true, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) configuration: Configuration,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done · 1 failure · 2 usage · 69 Redis or server unreachable · 75 refused for \
                          now · 77 not allowed · 78 configuration";

#[derive(Args, Debug)]
pub(crate) struct Configuration {
    /// Configuration file (TOML, YAML or JSON); repeatable, later ones win
    #[arg(short = 'c', long = "config", value_name = "FILE", global = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Override a setting; wins over files and environment; repeatable
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE", global = true)]
    pub(crate) settings: Vec<String>,
    /// Allow the intake to listen beyond loopback without keys: anyone who reaches it may do everything
    #[arg(long, global = true)]
    pub(crate) insecure_no_auth: bool,
}

impl Configuration {
    pub(crate) fn layers(self) -> Layers {
        Layers {
            files: self.files,
            environment: None,
            arguments: self.settings,
            insecure_no_auth: self.insecure_no_auth,
        }
    }
}
