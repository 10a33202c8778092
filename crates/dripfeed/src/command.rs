//! What the program can be told to do: the roles, and the operator's commands, a file each.

mod bucket;
mod buckets;
mod check;
mod completions;
mod config;
mod dead;
mod doctor;
mod job;
mod jobs;
mod key;
mod lab;
mod openapi;
mod pause;
mod purge;
mod push;
mod resume;
mod set;

use clap::Subcommand;

use crate::exit::Failure;
use crate::settings::Layers;
use crate::{dev, role};

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "there is one in a process")]
pub(crate) enum Command {
    /// Run everything on this machine, with nothing to configure
    Dev(dev::Arguments),
    /// Run the role that takes jobs over HTTP
    Intake(role::Arguments),
    /// Run the role that takes jobs from the buckets and calls the upstreams
    Processor(role::Arguments),
    /// Tell whether the configuration is sound
    Check(check::Arguments),
    /// Print every setting in force and where it comes from, secrets masked
    Config(config::Arguments),
    /// Hand in one job, or a file of them
    Push(push::Arguments),
    /// Show the buckets, or one
    Buckets(buckets::Arguments),
    /// List the jobs of a bucket
    Jobs(jobs::Arguments),
    /// Show a job, or cancel it
    Job(job::Arguments),
    /// List, replay or delete the dead letters of a bucket
    Dead(dead::Arguments),
    /// Stop a bucket from leaking; it takes jobs until it is full
    Pause(pause::Arguments),
    /// Let a paused bucket leak again
    Resume(resume::Arguments),
    /// Cancel all jobs of a bucket that are waiting or parked
    Purge(purge::Arguments),
    /// Change a running bucket
    Set(set::Arguments),
    /// Check the buckets' invariants in Redis, and mend them
    Doctor(doctor::Arguments),
    /// Run published limiters and ours side by side
    Lab(lab::Arguments),
    /// Make keys for callers
    Key(key::Arguments),
    /// Print the description of the HTTP API (OpenAPI)
    Openapi,
    /// Print the completions for a shell
    Completions(completions::Arguments),
}

/// Runs one. `program` is the whole command line, for its completions.
///
/// # Errors
/// With the code that the program ends with.
pub(crate) async fn run(command: Command, layers: Layers, program: clap::Command) -> Result<(), Failure> {
    match command {
        Command::Dev(arguments) => dev::run(arguments, layers).await,
        Command::Intake(arguments) => role::intake::run(arguments, layers).await,
        Command::Processor(arguments) => role::processor::run(arguments, layers).await,
        Command::Check(arguments) => check::run(&arguments, &layers).await,
        Command::Config(arguments) => config::run(&arguments, &layers),
        Command::Push(arguments) => push::run(arguments).await,
        Command::Buckets(arguments) => buckets::run(&arguments).await,
        Command::Jobs(arguments) => jobs::run(&arguments).await,
        Command::Job(arguments) => job::run(&arguments).await,
        Command::Dead(arguments) => dead::run(&arguments).await,
        Command::Pause(arguments) => pause::run(&arguments).await,
        Command::Resume(arguments) => resume::run(&arguments).await,
        Command::Purge(arguments) => purge::run(&arguments).await,
        Command::Set(arguments) => set::run(&arguments).await,
        Command::Doctor(arguments) => doctor::run(&arguments, &layers).await,
        Command::Lab(arguments) => lab::run(&arguments).await,
        Command::Key(arguments) => key::run(&arguments),
        Command::Openapi => openapi::run(),
        Command::Completions(arguments) => completions::run(&arguments, program),
    }
}
