//! `dripfeed man FOLDER`

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use crate::exit::Failure;
use crate::output;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Directory for the man pages, such as /usr/local/share/man/man1; created if it doesn't exist
    folder: PathBuf,
}

/// Writes a page for each command, such as `dripfeed-push`.
pub(in crate::command) fn run(Arguments { folder }: &Arguments, mut program: clap::Command) -> Result<(), Failure> {
    let shown = folder.display();
    fs::create_dir_all(folder).with_context(|| format!("can't create {shown}"))?;
    program.build();
    let program = with_usage(program);
    clap_mangen::generate_to(program, folder).with_context(|| format!("can't write the man pages to {shown}"))?;
    output::say(format_args!("man pages written to {shown}"));
    Ok(())
}

/// Sets the usage of each command to that of its help. The one that `clap_mangen` generates lacks the arguments before
/// a subcommand: `dripfeed dead <BUCKET> delete`.
fn with_usage(mut command: clap::Command) -> clap::Command {
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_owned();
    command.override_usage(usage).mut_subcommands(with_usage)
}
