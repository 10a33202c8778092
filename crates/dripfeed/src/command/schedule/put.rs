//! `dripfeed schedule BUCKET put`: defines a schedule.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use dripfeed_client::Client;
use dripfeed_job::schedule::ScheduleId;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method};
use serde::Serialize;
use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::client::CreateArgs;
use crate::exit::{Exit, Failure};

/// The server validates the schedule.
#[derive(Args, Debug)]
pub(super) struct PutArgs {
    /// Id of the schedule
    id: ScheduleId,
    /// Cron expression, such as "30 2 * * MON-FRI": minute, hour, day of the month, month, day of the week
    #[arg(long, value_name = "EXPRESSION", required_unless_present = "every", conflicts_with = "every")]
    cron: Option<String>,
    /// Time zone of the expression, such as Europe/Berlin [default: UTC]
    #[arg(long, requires = "cron")]
    zone: Option<String>,
    /// Period, such as 15m, aligned to the Unix epoch
    #[arg(long, value_name = "DURATION")]
    every: Option<String>,
    /// Body of its jobs, as JSON
    #[arg(long, value_name = "JSON", required_unless_present = "job", conflicts_with = "job")]
    body: Option<String>,
    /// File with its job: {"body": …, "options": {…}}
    #[arg(long, value_name = "FILE")]
    job: Option<PathBuf>,
    /// Missed ticks to submit later: the latest; all, at most 100; or with skip none after --grace [default: latest]
    #[arg(long, value_enum)]
    missed: Option<Missed>,
    /// How late a tick may be submitted, such as 1h; at least 1s [default: 1m with --missed skip, otherwise unlimited]
    #[arg(long, value_name = "DURATION")]
    grace: Option<String>,
    /// Whether a tick is submitted while the job of an earlier one is in the bucket [default: allow]
    #[arg(long, value_enum)]
    overlap: Option<Overlap>,
    /// Pause it; without this a new schedule runs, and an existing one is unchanged
    #[arg(long)]
    paused: bool,
    #[command(flatten)]
    create: CreateArgs,
}

#[derive(Clone, Copy, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum Missed {
    Latest,
    All,
    Skip,
}

#[derive(Clone, Copy, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum Overlap {
    Allow,
    Skip,
}

#[derive(Serialize)]
struct Definition<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cron: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    every: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missed: Option<Missed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grace: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<Overlap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<bool>,
    job: Box<RawValue>,
}

pub(super) async fn put(server: &Client, path: &str, arguments: &PutArgs) -> Result<Json, Failure> {
    let definition = Definition {
        cron: arguments.cron.as_deref(),
        zone: arguments.zone.as_deref(),
        every: arguments.every.as_deref(),
        missed: arguments.missed,
        grace: arguments.grace.as_deref(),
        overlap: arguments.overlap,
        paused: arguments.paused.then_some(true),
        job: job(arguments).map_err(|message| Failure::new(Exit::Usage, message))?,
    };
    let body = serde_json::to_vec(&definition).map_err(anyhow::Error::from)?;
    let mut headers = arguments.create.headers();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let path = format!("{path}/{}", arguments.id);
    Ok(server.call(Method::PUT, &path, headers, body.into()).await?.json()?)
}

/// Returns the job as JSON text, so that numbers and the order of members stay unchanged.
fn job(PutArgs { body, job, .. }: &PutArgs) -> Result<Box<RawValue>, String> {
    let text = match (body, job) {
        (Some(body), _) => {
            serde_json::from_str::<&RawValue>(body).map_err(|error| format!("--body isn't JSON: {error}"))?;
            format!("{{\"body\":{body}}}")
        }
        (None, Some(file)) => {
            std::fs::read_to_string(file).map_err(|error| format!("can't read {}: {error}", file.display()))?
        }
        (None, None) => return Err("give --body or --job".to_owned()),
    };
    RawValue::from_string(text).map_err(|error| format!("--job isn't JSON: {error}"))
}
