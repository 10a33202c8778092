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

/// One page of each command, for `man dripfeed-push`.
pub(in crate::command) fn run(Arguments { folder }: &Arguments, program: clap::Command) -> Result<(), Failure> {
    let shown = folder.display();
    fs::create_dir_all(folder).with_context(|| format!("can't create {shown}"))?;
    clap_mangen::generate_to(program, folder).with_context(|| format!("can't write the man pages to {shown}"))?;
    output::say(format_args!("man pages written to {shown}"));
    Ok(())
}
