//! `dripfeed drain BUCKET`: empties a bucket that was removed from the configuration, or whose kind or key changed.
//!
//! If the old settings are available, the bucket is served until it is empty (`serving`). Otherwise its jobs are moved
//! into another bucket (`moving`).

mod guard;
mod moving;
mod outbox;
mod serving;

use std::fmt::Display;
use std::time::Duration;

use clap::Args;
use dripfeed_bucket::{Bucket, BucketPlace, StrandedJobs, register_places, release_place, stranded_jobs};
use dripfeed_job::{BucketName, pluralize};
use dripfeed_store::Store;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

use super::served::{EVERY, described};
use super::{buckets, connect};
use crate::background;
use crate::exit::{Exit, Failure};
use crate::output::{self, Format};
use crate::settings::{Layers, Settings};
use crate::telemetry::Log;

#[derive(Args, Debug)]
#[group(id = "drain")]
pub(crate) struct Arguments {
    /// Name of the bucket
    bucket: BucketName,
    /// Move its jobs to this configured bucket, as new jobs, instead of delivering them. It may have the same name and
    /// another key
    #[arg(long, value_name = "OTHER")]
    into: Option<BucketName>,
    /// Resume the bucket first if it is paused
    #[arg(long, conflicts_with = "into")]
    resume: bool,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Format::Table)]
    output: Format,
    #[command(flatten)]
    role: super::Arguments,
}

/// Runs until the bucket is empty, or SIGTERM.
///
/// # Errors
/// When other processes serve the bucket, another bucket shares its data, or it is unknown; and at SIGTERM, unless it
/// is empty by then.
pub(crate) async fn run(arguments: Arguments, layers: Layers) -> Result<(), Failure> {
    let settings = Settings::load(&layers)?;
    Log::start(&settings.log);
    let stop = arguments.role.stop_with_terminal()?;
    let used = arguments.into.as_ref().unwrap_or(&arguments.bucket);
    let places = buckets::places(&settings, |name| name == used);
    let Some(connected) = connect::to_redis(&settings.redis, &places, &stop).await? else {
        return Err(interrupted("Redis wasn't reached"));
    };
    connected.log();
    match &arguments.into {
        None => serving::run(&arguments, &settings, &connected, &stop).await,
        Some(into) => moving::run(&arguments, into, &settings, &connected, &stop).await,
    }
}

/// The failure of a drain that was stopped before its end. Not a success, as scripts rely on the bucket being empty.
fn interrupted(what: impl Display) -> Failure {
    Failure::new(Exit::Failure, format!("interrupted: {what}; drain it again"))
}

/// Formats the numbers for messages.
fn show_jobs(jobs: u64, outcome_jobs: u64) -> String {
    match (jobs, outcome_jobs) {
        (jobs, 0) => pluralize(jobs, "job"),
        (0, outcome_jobs) => pluralize(outcome_jobs, "outcome job"),
        (jobs, outcome_jobs) => format!("{} and {}", pluralize(jobs, "job"), pluralize(outcome_jobs, "outcome job")),
    }
}

/// Registers places as served by this process, so that they aren't reported as stranded during the drain.
struct RegisteredPlaces {
    store: Store,
    done: CancellationToken,
}

impl RegisteredPlaces {
    async fn begin(store: &Store, places: Vec<BucketPlace>) -> Result<Self, Failure> {
        register_places(store, &places).await?;
        let done = CancellationToken::new();
        let (noting_store, noting_done) = (store.clone(), done.clone());
        background::spawn_restarting("registering the drained bucket", move || {
            keep_noting(noting_store.clone(), places.clone(), noting_done.clone())
        });
        Ok(Self { store: store.clone(), done })
    }

    /// Unregisters the places in `drained`: jobs that are left there are stranded at once. If Redis doesn't respond,
    /// they are stranded once the registration expires.
    async fn end(self, drained: &[BucketPlace]) {
        self.done.cancel();
        for place in drained {
            if let Err(error) = release_place(&self.store, place).await {
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, "could not unregister the drained bucket");
            }
        }
    }
}

async fn keep_noting(store: Store, places: Vec<BucketPlace>, done: CancellationToken) {
    loop {
        tokio::select! {
            () = done.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        if let Err(error) = register_places(&store, &places).await {
            let error = &error as &dyn std::error::Error;
            tracing::debug!(error, "could not register the drained bucket");
        }
    }
}

/// The error about a bucket that isn't configured, with a list of all stranded jobs.
async fn unknown(store: &Store, bucket: &BucketName, what_to_do: &str) -> Result<Failure, Failure> {
    let stranded = stranded_jobs(store, &[]).await?;
    let list = match stranded.is_empty() {
        true => "; no jobs are stranded".to_owned(),
        false => {
            let lines = stranded.iter().map(|StrandedJobs { place, jobs, outcome_jobs, .. }| {
                format!("\n  {}: {}", described(place, store), show_jobs(jobs - outcome_jobs, *outcome_jobs))
            });
            format!("; stranded jobs:{}", lines.collect::<String>())
        }
    };
    Ok(Failure::new(Exit::Configuration, format!("unknown bucket `{bucket}`: {what_to_do}{list}")))
}

/// Ends the schedules of a bucket that is no longer served, and logs a warning about its dead letters.
async fn leave(bucket: &Bucket) -> Result<(), Failure> {
    let (schedules, dead_letters) = (bucket.end_all_schedules().await?, bucket.number_of_dead_letters().await?);
    let bucket = bucket.name();
    if schedules > 0 {
        tracing::warn!(%bucket, schedules, "the schedules of the bucket were ended, because no process serves it");
    }
    if dead_letters > 0 {
        tracing::warn!(
            %bucket, dead_letters,
            "dead letters of the bucket stay in Redis: to replay, export or delete them, configure it again"
        );
    }
    Ok(())
}

/// Sleeps. Returns `None` if the drain is asked to stop meanwhile.
async fn rest(wait: Duration, stop: &CancellationToken) -> Option<()> {
    tokio::select! {
        () = stop.cancelled() => None,
        () = tokio::time::sleep(wait) => Some(()),
    }
}

fn print(format: Format, document: &Json, sentence: &str) -> Result<(), Failure> {
    match format {
        Format::Json => output::json(document)?,
        Format::Table => output::line(sentence)?,
    }
    Ok(())
}
