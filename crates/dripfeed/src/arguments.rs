//! Command-line arguments.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser};

use crate::command::{Command, Role};
use crate::exit::Failure;
use crate::output;
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

/// The command line of a role alone. Parsed first: building that of all commands takes a good part of a role's start.
#[derive(Debug, Parser)]
#[command(name = "dripfeed", disable_help_subcommand = true)]
struct RoleArguments {
    #[command(flatten)]
    configuration: Configuration,
    #[command(subcommand)]
    role: Role,
}

impl RoleArguments {
    /// Returns `None` for another command, invalid arguments, or a request for help.
    fn read() -> Option<Arguments> {
        let matches = with_configuration(Self::command()).try_get_matches().ok()?;
        let Self { mut configuration, role } = Self::from_arg_matches(&matches).ok()?;
        configuration.add_from_subcommands(&matches).ok()?;
        Some(Arguments { configuration, command: Command::Role(role) })
    }
}

const EXIT_CODES: &str = "Exit codes: 0 success · 1 failure · 2 usage error · 69 Redis or server unreachable · 75 \
                          refused, retry later · 77 permission denied · 78 invalid configuration";

impl Arguments {
    /// Parses the arguments of this process. For invalid ones, help and `--version`, prints the text and returns the
    /// exit code.
    pub(crate) fn read() -> Result<Self, ExitCode> {
        RoleArguments::read().map_or_else(Self::read_any, Ok)
    }

    fn read_any() -> Result<Self, ExitCode> {
        let matches = Self::program().try_get_matches().map_err(|error| print(&error))?;
        Self::from_matches(&matches).map_err(|error| print(&error.format(&mut Self::program())))
    }

    /// Returns the whole command line. Each command accepts the options of `Configuration`. They aren't clap's globals,
    /// because a global option after a command replaces the one before it, instead of adding to it.
    pub(crate) fn program() -> clap::Command {
        with_configuration(Self::command())
    }

    fn from_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut arguments = Self::from_arg_matches(matches)?;
        arguments.configuration.add_from_subcommands(matches)?;
        Ok(arguments)
    }
}

/// Prints clap's error, help or version. Returns the exit code.
fn print(error: &clap::Error) -> ExitCode {
    let printed = output::flushed(error.print());
    match printed.map_err(Failure::from) {
        Err(failure) if !error.use_stderr() => failure.report(),
        _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(u8::MAX)),
    }
}

/// The commands that read settings. The others accept the options of `Configuration`, too, and ignore them.
const READ_SETTINGS: [&str; 7] = ["dev", "intake", "processor", "drain", "check", "config", "doctor"];
/// Puts these options after those of the command in the help.
const LAST: usize = 900;
const UNUSED: &str = "Accepted by all commands, and not used by this one";

fn with_configuration(program: clap::Command) -> clap::Command {
    let options = Configuration::augment_args(clap::Command::default());
    program.mut_subcommands(|command| {
        let heading = (!READ_SETTINGS.contains(&command.get_name())).then_some(UNUSED);
        let options = options.clone().mut_args(|option| option.help_heading(heading).display_order(LAST));
        with_options(command, &options)
    })
}

fn with_options(command: clap::Command, options: &clap::Command) -> clap::Command {
    let command = command.args(options.get_arguments().cloned());
    command.mut_subcommands(|inner| with_options(inner, options))
}

#[derive(Args, Debug)]
pub(crate) struct Configuration {
    /// Configuration file (TOML, YAML or JSON); repeatable, later files override earlier ones
    #[arg(short = 'c', long = "config", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Set a configuration key; overrides files and environment; repeatable, later ones override earlier ones
    #[arg(long = "set", value_name = "SECTION.KEY=VALUE")]
    pub(crate) settings: Vec<String>,
    /// Allow the intake to listen beyond loopback without keys: anyone who reaches it may do everything
    #[arg(long)]
    pub(crate) insecure_no_auth: bool,
}

impl Configuration {
    /// Adds the options after each subcommand.
    fn add_from_subcommands(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let mut outer = matches;
        while let Some((_, inner)) = outer.subcommand() {
            self.add(Self::from_arg_matches(inner)?);
            outer = inner;
        }
        Ok(())
    }

    fn add(&mut self, later: Self) {
        self.files.extend(later.files);
        self.settings.extend(later.settings);
        self.insecure_no_auth |= later.insecure_no_auth;
    }

    pub(crate) fn layers(self) -> Layers {
        Layers {
            files: self.files,
            environment: None,
            arguments: self.settings,
            insecure_no_auth: self.insecure_no_auth,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command and its subcommands, with their full names.
    fn all(command: clap::Command, above: &str) -> Vec<(String, clap::Command)> {
        let name = format!("{above} {}", command.get_name());
        let within: Vec<clap::Command> = command.get_subcommands().cloned().collect();
        let within = within.into_iter().flat_map(|inner| all(inner, &name)).collect::<Vec<_>>();
        [(name, command)].into_iter().chain(within).collect()
    }

    #[test]
    fn each_argument_has_a_help_text_and_a_value_name() {
        let mut program = Arguments::program();
        program.build();
        for (name, command) in all(program, "") {
            for argument in command.get_arguments() {
                let id = argument.get_id();
                assert!(argument.get_help().is_some(), "{name}: {id} has no help");
                let values = argument.get_value_names().filter(|_| argument.get_action().takes_values());
                assert!(!values.unwrap_or_default().iter().any(|value| value.contains('_')), "{name}: {id}");
            }
        }
    }
}
