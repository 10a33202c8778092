//! `dripfeed dead BUCKET`

mod delete;
mod filter;
mod replays;

use clap::{ArgGroup, Args, Subcommand};
use dripfeed_client::Client;
use dripfeed_job::{BucketName, JobId, Rate, pluralize};
use http::Method;
use serde::Serialize;

use self::delete::DeleteArgs;
use self::filter::FilterArgs;
use self::replays::ReplaysArgs;
use super::done;
use super::export::{self, CsvColumn, ExportArgs, Exported};
use super::listing::print_pages;
use crate::client::ConnectionArgs;
use crate::exit::{Exit, Failure};
use crate::output::{self, Column, Format, shown};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Name of the bucket
    bucket: BucketName,
    #[command(subcommand)]
    command: Option<DeadCommand>,
    #[command(flatten)]
    connection: ConnectionArgs,
}

#[derive(Debug, Subcommand)]
enum DeadCommand {
    /// List the dead letters (default)
    List {
        /// Maximum number of letters
        #[arg(long, value_name = "NUMBER", default_value_t = 100)]
        limit: usize,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Write all dead letters to standard output, as NDJSON or CSV
    Export {
        #[command(flatten)]
        export: ExportArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Replay a dead letter, or all that match, as new jobs
    #[command(group = ArgGroup::new("which").args(["id", "all"]).required(true))]
    Replay {
        /// Id of the dead letter
        #[arg(conflicts_with = "FilterArgs")]
        id: Option<JobId>,
        /// Replay all that match the options below; without any, all
        #[arg(long)]
        all: bool,
        /// Rate of replays, such as 10/s [default: the bucket's rate]
        #[arg(long, requires = "all", conflicts_with = "id")]
        rate: Option<Rate>,
        /// Replay in the background, as the bucket has room; prints the replay, which `replays` shows
        #[arg(long, requires = "all", conflicts_with = "id")]
        background: bool,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Show the latest background replays, or show or stop one
    Replays(ReplaysArgs),
    /// Delete a dead letter, or all that match, permanently
    Delete(DeleteArgs),
}

const COLUMNS: [Column; 6] = [
    ("ID", |letter| shown(letter, "/id")),
    ("DIED", |letter| shown(letter, "/died_at")),
    ("ATTEMPTS", |letter| shown(letter, "/outcome/attempts")),
    ("STATUS", |letter| shown(letter, "/outcome/status")),
    ("CALLER", |letter| shown(letter, "/caller")),
    ("REASON", |letter| shown(letter, "/outcome/reason")),
];

const CSV: [CsvColumn; 18] = [
    ("id", "/id"),
    ("bucket", "/bucket"),
    ("caller", "/caller"),
    ("accepted_at", "/accepted_at"),
    ("died_at", "/died_at"),
    ("attempts", "/outcome/attempts"),
    ("status", "/outcome/status"),
    ("reason", "/outcome/reason"),
    ("method", "/method"),
    ("path", "/path"),
    ("headers", "/headers"),
    ("content_type", "/content_type"),
    ("body", "/body"),
    ("body_base64", "/body_base64"),
    ("answer", "/outcome/body"),
    ("answer_base64", "/outcome/base64"),
    ("truncated", "/outcome/truncated"),
    ("answer_encoding", "/outcome/content_encoding"),
];

pub(super) async fn run(Arguments { bucket, command, connection }: &Arguments) -> Result<(), Failure> {
    let server = connection.server()?;
    let path = format!("/v1/buckets/{bucket}/dead");
    match command {
        None => list(&server, &path, &FilterArgs::default(), 100, connection.output()).await,
        Some(DeadCommand::List { limit, filter }) => list(&server, &path, filter, *limit, connection.output()).await,
        Some(DeadCommand::Export { export, filter }) => {
            export::refuse_output(connection)?;
            let filters = filter.pairs();
            let about = if filters.is_empty() { export::about(&server, bucket, "dead").await } else { None };
            export::run(&server, Exported { path: &path, filters, columns: &CSV, about }, *export).await
        }
        Some(DeadCommand::Replay { id: Some(id), .. }) => {
            let receipt = server.replay(bucket, *id).await?;
            Ok(print(&receipt, &receipt.id.to_string(), connection.output())?)
        }
        Some(DeadCommand::Replay { id: None, rate, filter, background: true, .. }) => {
            let started = server.send_json(Method::POST, &format!("{path}/replays"), &filter.document(*rate)).await?;
            Ok(replays::print(&started, connection.output())?)
        }
        Some(DeadCommand::Replays(arguments)) => replays::run(&server, &path, arguments, connection.output()).await,
        Some(DeadCommand::Replay { id: None, rate, filter, .. }) => {
            let done = server.send_json(Method::POST, &format!("{path}/replay"), &filter.document(*rate)).await?;
            done::print(&done, "replayed", "dead letter", connection.output())?;
            match done["left"].as_u64() {
                None | Some(0) => Ok(()),
                Some(left) => Err(Failure::new(
                    Exit::RefusedForNow,
                    format!(
                        "not replayed: {}; the bucket or the share of their callers is full, or they are larger than \
                            its capacity_bytes: run it again later",
                        pluralize(left, "dead letter")
                    ),
                )),
            }
        }
        Some(DeadCommand::Delete(arguments)) => delete::run(&server, bucket, arguments, connection.output()).await,
    }
}

async fn list(server: &Client, path: &str, filter: &FilterArgs, limit: usize, format: Format) -> Result<(), Failure> {
    print_pages(server.list(path, &filter.pairs(), limit), &COLUMNS, format).await
}

fn print(document: &impl Serialize, short: &str, format: Format) -> std::io::Result<()> {
    match format {
        Format::Table => output::line(short),
        Format::Json => output::json(document),
    }
}
