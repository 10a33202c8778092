//! The subcommands: roles and operator commands, one file each.

mod bucket;
mod buckets;
mod check;
mod config;
mod dead;
mod description;
mod doctor;
mod done;
mod export;
mod job;
mod jobs;
mod key;
mod listing;
mod measure;
mod pause;
mod purge;
mod push;
mod ready;
mod schedule;
mod set;

use clap::Subcommand;

use self::description::{completions, man, openapi};
use self::jobs::outcomes;
use self::measure::{bench, history, lab, report};
use crate::exit::Failure;
use crate::settings::Layers;
use crate::{dev, role, top};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run Redis, intake, processor and an echo upstream locally, without configuration
    Dev(dev::Arguments),
    #[command(flatten)]
    Role(Role),
    /// Deliver or move the jobs of a bucket that was removed, renamed, or given another kind or key
    Drain(role::drain::Arguments),
    /// Validate the configuration
    Check(check::Arguments),
    /// Print the effective settings and their origin, with secrets masked
    Config(config::Arguments),
    /// Check that an intake or processor is ready for work: exit code 0, or 1
    Ready(ready::Arguments),
    /// Submit a job, or a file of jobs
    Push(push::Arguments),
    /// Show all buckets, or one
    Buckets(buckets::Arguments),
    /// Create, change, show or delete a bucket over the API
    Bucket(bucket::Arguments),
    /// Live view of the buckets in the terminal
    Top(top::Arguments),
    /// Show counts, rates and latencies of a bucket over time
    History(history::Arguments),
    /// Summarize a bucket over a window: jobs accepted and refused, outcomes, and latencies of delivered jobs
    Report(report::Arguments),
    /// List, export or cancel the jobs of a bucket
    Jobs(jobs::Arguments),
    /// Show a job, or cancel it
    Job(job::Arguments),
    /// List or export the outcomes of a bucket's jobs
    Outcomes(outcomes::Arguments),
    /// List, export, replay or delete the dead letters of a bucket
    Dead(dead::Arguments),
    /// List, define, pause, run or delete the schedules of a bucket
    Schedule(schedule::Arguments),
    /// Pause a bucket: it makes no calls, and accepts jobs until it is full
    Pause(pause::Arguments),
    /// Resume a paused bucket
    Resume(pause::Arguments),
    /// Cancel all waiting and parked jobs of a bucket
    Purge(purge::Arguments),
    /// Change settings of a running bucket
    Set(set::Arguments),
    /// Load test: submit jobs at a given rate and measure the latency of submissions
    Bench(bench::Arguments),
    /// Check the data of the buckets in Redis for consistency, and repair it
    Doctor(doctor::Arguments),
    /// Benchmark published rate limiters against dripfeed's
    Lab(lab::Arguments),
    /// Create, change, list, show and revoke API keys
    Key(key::Arguments),
    /// Print the OpenAPI description of the HTTP API
    Openapi,
    /// Print shell completions
    Completions(completions::Arguments),
    /// Write the man pages, one for each command, to a directory
    Man(man::Arguments),
}

/// The roles, which autoscaling starts often.
#[derive(Debug, Subcommand)]
pub(crate) enum Role {
    /// Run an intake: accept jobs over HTTP
    Intake(role::Arguments),
    /// Run a processor: claim jobs and call the upstreams
    Processor(role::Arguments),
}

/// Runs a command. `program` builds the whole command line, for completions and man pages.
///
/// # Errors
/// The failure has the exit code of the program.
pub(crate) async fn run(command: Command, layers: Layers, program: fn() -> clap::Command) -> Result<(), Failure> {
    match command {
        Command::Dev(arguments) => dev::run(arguments, layers).await,
        // Boxed, because its future is much larger than the others.
        Command::Role(Role::Intake(arguments)) => Box::pin(role::intake::run(arguments, layers)).await,
        Command::Role(Role::Processor(arguments)) => role::processor::run(arguments, layers).await,
        Command::Drain(arguments) => role::drain::run(arguments, layers).await,
        Command::Check(arguments) => check::run(&arguments, &layers).await,
        Command::Config(arguments) => config::run(&arguments, &layers),
        Command::Ready(arguments) => ready::run(&arguments).await,
        Command::Push(arguments) => push::run(arguments).await,
        Command::Buckets(arguments) => buckets::run(&arguments).await,
        Command::Bucket(arguments) => bucket::run(arguments).await,
        Command::Top(arguments) => top::run(arguments).await,
        Command::History(arguments) => history::run(&arguments).await,
        Command::Report(arguments) => report::run(&arguments).await,
        Command::Jobs(arguments) => jobs::run(&arguments).await,
        Command::Job(arguments) => job::run(&arguments).await,
        Command::Outcomes(arguments) => outcomes::run(&arguments).await,
        Command::Dead(arguments) => dead::run(&arguments).await,
        Command::Schedule(arguments) => schedule::run(arguments).await,
        Command::Pause(arguments) => pause::pause(&arguments).await,
        Command::Resume(arguments) => pause::resume(&arguments).await,
        Command::Purge(arguments) => purge::run(&arguments).await,
        Command::Set(arguments) => set::run(&arguments).await,
        Command::Bench(arguments) => bench::run(&arguments).await,
        Command::Doctor(arguments) => doctor::run(&arguments, &layers).await,
        Command::Lab(arguments) => lab::run(&arguments).await,
        Command::Key(arguments) => key::run(arguments).await,
        Command::Openapi => openapi::run(),
        Command::Completions(arguments) => completions::run(&arguments, program()),
        Command::Man(arguments) => man::run(&arguments, program()),
    }
}
