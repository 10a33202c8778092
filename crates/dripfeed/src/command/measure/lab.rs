//! `dripfeed lab`: runs the experiments one after another, prints a table, and writes a chart for each.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use dripfeed_lab::{EXPERIMENTS, Experiment, LabError, Outcome, Testbed};
use dripfeed_store::{Address, AddressError};
use tokio_util::sync::CancellationToken;

use super::chart_file::ChartFile;
use crate::exit::{Exit, Failure};
use crate::output::{self, Format};
use crate::signals;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Run only this experiment; repeatable
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(EXPERIMENTS.map(|one| one.name)))]
    only: Vec<String>,
    /// Directory for the charts
    #[arg(long, value_name = "DIR", default_value = "lab")]
    out: PathBuf,
    /// Redis to use instead of a private one; nothing else may write to it during the run
    #[arg(long, value_name = "URL")]
    redis: Option<String>,
    /// Record the calls as time series; needs a Redis with TS.ADD
    #[arg(long)]
    timeseries: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

const HEADS: [&str; 7] = ["EXPERIMENT", "FIGURE", "PUBLISHED", "MEASURED", "OURS", "BOUND", "HELD"];

pub(crate) async fn run(arguments: &Arguments) -> Result<(), Failure> {
    let redis = address(arguments.redis.as_deref())?;
    std::fs::create_dir_all(&arguments.out).map_err(|error| not_written(&arguments.out, &error))?;
    let stop = signals::stop_with_terminal()?;
    let mut outcomes = Vec::new();
    let result = run_all(arguments, redis.as_ref(), &stop, &mut outcomes).await;
    // After a failure, prints the outcomes of earlier experiments.
    if result.is_ok() || !outcomes.is_empty() {
        match arguments.output {
            Format::Table => print(&outcomes)?,
            Format::Json => output::json(&outcomes.iter().map(|(_, outcome)| outcome).collect::<Vec<_>>())?,
        }
    }
    result.and_then(|()| verdict(&outcomes))
}

async fn run_all(
    arguments: &Arguments,
    redis: Option<&Address>,
    stop: &CancellationToken,
    outcomes: &mut Vec<(&'static Experiment, Outcome)>,
) -> Result<(), Failure> {
    let wanted = EXPERIMENTS.iter().filter(|one| is_wanted(&arguments.only, one));
    let chart = |one: &Experiment| ChartFile::open(&arguments.out.join(one.name).with_extension("svg"));
    let charts = wanted.map(|one| Ok((one, chart(one)?))).collect::<Result<Vec<_>, Failure>>()?;
    for (experiment, mut chart) in charts {
        let (outcome, cleanup) = run_one(*experiment, arguments, redis, stop).await?;
        let svg = outcome.chart();
        outcomes.push((experiment, outcome));
        cleanup?;
        chart.write(&svg?)?;
        output::say(format_args!("  {}", chart.path().display()));
    }
    Ok(())
}

fn is_wanted(only: &[String], experiment: &Experiment) -> bool {
    only.is_empty() || only.iter().any(|name| name == experiment.name)
}

/// Runs an experiment, then in any case removes its data from Redis except time series, and stops a private server.
/// Returns the outcome, and whether this cleanup succeeded.
async fn run_one(
    experiment: Experiment,
    arguments: &Arguments,
    redis: Option<&Address>,
    stop: &CancellationToken,
) -> Result<(Outcome, Result<(), LabError>), Failure> {
    let testbed = tokio::select! {
        testbed = testbed(redis) => testbed?,
        () = stop.cancelled() => return Err(interrupted()),
    };
    let result = tokio::select! {
        result = run_on(&testbed, experiment, arguments.timeseries) => result,
        () = stop.cancelled() => Err(interrupted()),
    };
    let cleanup = testbed.leave().await;
    Ok((result?, cleanup))
}

/// Parses the URL here and not with clap, whose error would show its password.
fn address(redis: Option<&str>) -> Result<Option<Address>, Failure> {
    let wrong = |error: AddressError| Failure::new(Exit::Usage, format!("--redis: {error}"));
    redis.map(str::parse).transpose().map_err(wrong)
}

async fn testbed(redis: Option<&Address>) -> Result<Testbed, LabError> {
    match redis {
        Some(address) => Testbed::shared(address.clone()).await,
        None => Testbed::private().await,
    }
}

fn interrupted() -> Failure {
    Failure::new(Exit::Failure, "interrupted before all experiments had ended")
}

async fn run_on(testbed: &Testbed, experiment: Experiment, time_series: bool) -> Result<Outcome, Failure> {
    if time_series {
        testbed.require_time_series().await?;
    }
    let Experiment { name, title, seconds, .. } = experiment;
    output::say(format_args!("{name}: {title} (about {seconds} s)"));
    let outcome = experiment.run(testbed).await?;
    if time_series {
        outcome.record(testbed).await?;
    }
    Ok(outcome)
}

fn print(outcomes: &[(&Experiment, Outcome)]) -> Result<(), Failure> {
    let rows = outcomes.iter().flat_map(|(experiment, outcome)| {
        outcome.rows().iter().map(|row| [vec![experiment.name.to_owned()], row.cells().to_vec()].concat())
    });
    Ok(output::table(&HEADS, rows)?)
}

fn verdict(outcomes: &[(&Experiment, Outcome)]) -> Result<(), Failure> {
    let failed = outcomes.iter().filter(|(_, outcome)| !outcome.held());
    let failed: Vec<&str> = failed.map(|(experiment, _)| experiment.name).collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::new(Exit::Failure, format!("bounds were exceeded: {}", failed.join(", "))))
}

fn not_written(path: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Failure, format!("can't write {} ({error}): choose another folder with --out", path.display()))
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Store(error) => error.into(),
            LabError::Server(error) => error.into(),
            LabError::Bucket(error) => error.into(),
            error => Self::of(Exit::Failure, error),
        }
    }
}
