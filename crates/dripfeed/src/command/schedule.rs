//! `dripfeed schedule BUCKET`

mod put;

use clap::{Args, Subcommand};
use dripfeed_client::Client;
use dripfeed_job::BucketName;
use dripfeed_job::schedule::ScheduleId;
use serde_json::Value as Json;

use self::put::PutArgs;
use super::listing::print_pages;
use crate::client::ConnectionArgs;
use crate::exit::Failure;
use crate::output::{self, Column, Format, shown};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Name of the bucket
    bucket: BucketName,
    #[command(subcommand)]
    command: Option<ScheduleCommand>,
    #[command(flatten)]
    connection: ConnectionArgs,
}

#[derive(Debug, Subcommand)]
enum ScheduleCommand {
    /// List the schedules (default)
    List {
        /// Maximum number of schedules
        #[arg(long, value_name = "NUMBER", default_value_t = 100)]
        limit: usize,
    },
    /// Show a schedule
    Show(Which),
    /// Create a schedule, or replace its definition
    Put(Box<PutArgs>),
    /// Pause a schedule; ticks during the pause are not submitted later
    Pause(Which),
    /// Resume a schedule at its next tick
    Resume(Which),
    /// Submit the job of a schedule now
    Run(Which),
    /// Delete a schedule; jobs it has submitted stay in the bucket
    Delete(Which),
}

#[derive(Args, Debug)]
struct Which {
    /// Id of the schedule
    id: ScheduleId,
}

const COLUMNS: [Column; 8] = [
    ("ID", |schedule| shown(schedule, "/id")),
    ("WHEN", when),
    ("NEXT", |schedule| if schedule["paused"] == true { "paused".to_owned() } else { shown(schedule, "/next_at") }),
    ("LAST", |schedule| shown(schedule, "/last_at")),
    ("MISSED", |schedule| shown(schedule, "/missed_ticks")),
    ("OVERLAPPED", |schedule| shown(schedule, "/overlapped_ticks")),
    ("REFUSED", refused),
    ("CALLER", |schedule| shown(schedule, "/caller")),
];

const DETAILS: [Column; 5] = [
    ("LAST JOB", |schedule| shown(schedule, "/last_job")),
    ("IF MISSED", |schedule| shown(schedule, "/missed")),
    ("GRACE", |schedule| shown(schedule, "/grace")),
    ("OVERLAP", |schedule| shown(schedule, "/overlap")),
    ("JOB", |schedule| shown(schedule, "/job")),
];

fn when(schedule: &Json) -> String {
    match (schedule["cron"].as_str(), schedule["zone"].as_str()) {
        (Some(cron), Some(zone)) => format!("{cron} {zone}"),
        (Some(cron), None) => format!("{cron} UTC"),
        (None, _) => format!("every {}", shown(schedule, "/every")),
    }
}

fn refused(schedule: &Json) -> String {
    if schedule["caller_may_submit"] == false { "no key".to_owned() } else { shown(schedule, "/refused") }
}

pub(super) async fn run(Arguments { bucket, command, connection }: Arguments) -> Result<(), Failure> {
    let server = connection.server()?;
    let path = format!("/v1/buckets/{bucket}/schedules");
    let format = connection.output();
    match command {
        None => list(&server, &path, 100, format).await,
        Some(ScheduleCommand::List { limit }) => list(&server, &path, limit, format).await,
        Some(ScheduleCommand::Show(Which { id })) => Ok(print(&server.get(&format!("{path}/{id}")).await?, format)?),
        Some(ScheduleCommand::Put(arguments)) => Ok(print(&put::put(&server, &path, &arguments).await?, format)?),
        Some(ScheduleCommand::Pause(Which { id })) => {
            Ok(print(&server.post(&format!("{path}/{id}/pause")).await?, format)?)
        }
        Some(ScheduleCommand::Resume(Which { id })) => {
            Ok(print(&server.post(&format!("{path}/{id}/resume")).await?, format)?)
        }
        Some(ScheduleCommand::Run(Which { id })) => {
            let receipt = server.post(&format!("{path}/{id}/run")).await?;
            match format {
                Format::Table => output::line(shown(&receipt, "/id"))?,
                Format::Json => output::json(&receipt)?,
            }
            Ok(())
        }
        Some(ScheduleCommand::Delete(Which { id })) => {
            server.delete(&format!("{path}/{id}")).await?;
            Ok(())
        }
    }
}

async fn list(server: &Client, path: &str, limit: usize, format: Format) -> Result<(), Failure> {
    print_pages(server.list(path, &[], limit), &COLUMNS, format).await
}

fn print(schedule: &Json, format: Format) -> std::io::Result<()> {
    match format {
        Format::Table => output::sheet(&[COLUMNS.as_slice(), &DETAILS].concat(), schedule),
        Format::Json => output::json(schedule),
    }
}
