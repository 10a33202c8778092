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

/// A role and nothing else: to make the command line of all commands is a good part of a role's start.
#[derive(Debug, Parser)]
#[command(name = "dripfeed", disable_help_subcommand = true)]
struct RoleArguments {
    #[command(flatten)]
    configuration: Configuration,
    #[command(subcommand)]
    role: Role,
}

impl RoleArguments {
    /// None: it is something else, is wrong, or asks for help.
    fn read() -> Option<Arguments> {
        let given = with_options_of_all(Self::command()).try_get_matches().ok()?;
        let Self { mut configuration, role } = Self::from_arg_matches(&given).ok()?;
        configuration.add_all_below(&given).ok()?;
        Some(Arguments { configuration, command: Command::Role(role) })
    }
}

const EXIT_CODES: &str = "Exit codes: 0 success · 1 failure · 2 usage error · 69 Redis or server unreachable · 75 \
                          refused, retry later · 77 permission denied · 78 invalid configuration";

impl Arguments {
    /// Those of this process. Err: they are wrong, or ask for help or the version, which is shown.
    pub(crate) fn read() -> Result<Self, ExitCode> {
        RoleArguments::read().map_or_else(Self::read_any, Ok)
    }

    fn read_any() -> Result<Self, ExitCode> {
        let given = Self::program().try_get_matches().map_err(|error| show(&error))?;
        Self::of_all_commands(&given).map_err(|error| show(&error.format(&mut Self::program())))
    }

    /// The whole command line. The options of `Configuration` may stand before and after each command. They aren't
    /// clap's globals: of these, what stands before a command is forgotten when the same option stands after it.
    pub(crate) fn program() -> clap::Command {
        with_options_of_all(Self::command())
    }

    fn of_all_commands(given: &ArgMatches) -> Result<Self, clap::Error> {
        let mut arguments = Self::from_arg_matches(given)?;
        arguments.configuration.add_all_below(given)?;
        Ok(arguments)
    }
}

/// What clap says instead of arguments, and the code to end with.
fn show(error: &clap::Error) -> ExitCode {
    let shown = output::flushed(error.print());
    match shown.map_err(Failure::from) {
        Err(failure) if !error.use_stderr() => failure.report(),
        _ => ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(u8::MAX)),
    }
}

/// The commands that read settings. The others take their options, too: where they stand doesn't matter then.
const READ_SETTINGS: [&str; 7] = ["dev", "intake", "processor", "drain", "check", "config", "doctor"];
/// In the help, behind the options of the command.
const LAST: usize = 900;
const UNUSED: &str = "Accepted by all commands, and not used by this one";

fn with_options_of_all(program: clap::Command) -> clap::Command {
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
    /// Those of all commands within commands.
    fn add_all_below(&mut self, given: &ArgMatches) -> Result<(), clap::Error> {
        let mut outer = given;
        while let Some((_, inner)) = outer.subcommand() {
            self.add(Self::from_arg_matches(inner)?);
            outer = inner;
        }
        Ok(())
    }

    /// What stands after a command is later than what stands before it.
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

    /// A command and those within it, and their names.
    fn all(command: clap::Command, above: &str) -> Vec<(String, clap::Command)> {
        let name = format!("{above} {}", command.get_name());
        let within: Vec<clap::Command> = command.get_subcommands().cloned().collect();
        let within = within.into_iter().flat_map(|inner| all(inner, &name)).collect::<Vec<_>>();
        [(name, command)].into_iter().chain(within).collect()
    }

    #[test]
    fn each_argument_says_what_it_is_and_names_its_value() {
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
