//! `dripfeed jobs BUCKET`

mod cancel;
mod export;
mod filter;
pub(super) mod outcomes;

use clap::{Args, Subcommand};
use dripfeed_job::BucketName;

use self::filter::FilterArgs;
use super::listing::print_pages;
use crate::client::ConnectionArgs;
use crate::exit::Failure;
use crate::output::{Column, shown};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Name of the bucket
    bucket: BucketName,
    #[command(flatten)]
    filter: FilterArgs,
    /// Only the job with this idempotency key, in any state: one of your own, or with --caller that of this caller
    #[arg(long, value_name = "KEY", conflicts_with_all = ["cancel", "state", "older_than", "since", "until"])]
    idempotency_key: Option<String>,
    /// Maximum number of jobs [default: 100]
    #[arg(long, value_name = "NUMBER", conflicts_with = "cancel")]
    limit: Option<usize>,
    /// Cancel all waiting and parked jobs that match, instead of listing them
    #[arg(long)]
    cancel: bool,
    /// Don't ask for confirmation of --cancel; needed where standard input isn't a terminal
    #[arg(long, requires = "cancel")]
    yes: bool,
    #[command(subcommand)]
    command: Option<JobsCommand>,
    #[command(flatten)]
    connection: ConnectionArgs,
}

#[derive(Debug, Subcommand)]
enum JobsCommand {
    /// Write all of them to standard output, as NDJSON or CSV, without payloads
    Export(export::Arguments),
}

impl Arguments {
    /// The query parameters of `filter` and of the idempotency key.
    fn pairs(&self, filter: &FilterArgs) -> Vec<(&'static str, String)> {
        let key = self.idempotency_key.iter().map(|key| ("idempotency_key", key.clone()));
        filter.pairs().into_iter().chain(key).collect()
    }
}

const DEFAULT_LIMIT: usize = 100;

const COLUMNS: [Column; 8] = [
    ("ID", |job| shown(job, "/id")),
    ("STATE", |job| shown(job, "/state")),
    ("ATTEMPTS", |job| shown(job, "/attempts")),
    ("ACCEPTED", |job| shown(job, "/accepted_at")),
    ("DUE", |job| shown(job, "/due_at")),
    ("CALLER", |job| shown(job, "/caller")),
    ("PRIORITY", |job| shown(job, "/priority")),
    ("REASON", |job| shown(job, "/outcome/reason")),
];

pub(super) async fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(JobsCommand::Export(export)) = &arguments.command {
        return export::run(arguments, export).await;
    }
    if arguments.cancel {
        return cancel::run(arguments).await;
    }
    let Arguments { bucket, filter, limit, connection, .. } = arguments;
    let filters = arguments.pairs(filter);
    let (server, path) = (connection.server()?, format!("/v1/buckets/{bucket}/jobs"));
    print_pages(server.list(&path, &filters, limit.unwrap_or(DEFAULT_LIMIT)), &COLUMNS, connection.output()).await
}
