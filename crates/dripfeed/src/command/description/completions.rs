//! `dripfeed completions SHELL`

use clap::Args;
use clap_complete::Shell;

use crate::exit::Failure;
use crate::output;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Shell to print completions for
    shell: Shell,
}

pub(in crate::command) fn run(Arguments { shell }: &Arguments, mut program: clap::Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut program, "dripfeed", &mut script);
    Ok(output::line(String::from_utf8_lossy(&script).trim_end())?)
}
