//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser};

use crate::command::Command;
use crate::settings::Layers;

/// Takes work over HTTP as fast as it comes, holds it in a bounded bucket in Redis, and lets it leak to a fragile
/// upstream at the pace the upstream can bear.
#[derive(Debug, Parser)]
#[command(name = "dripfeed", version, propagate_version = true, disable_help_subcommand = true, after_help = EXIT_CODES)]
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
    /// A configuration file, TOML, YAML or JSON; repeatable, later ones win
    #[arg(short = 'c', long = "config", value_name = "FILE", global = true)]
    pub(crate) files: Vec<PathBuf>,
    /// A setting, above files and environment; repeatable
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE", global = true)]
    pub(crate) settings: Vec<String>,
    /// Let the intake listen beyond this machine without keys: whoever reaches it may do everything
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
