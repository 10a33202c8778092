//! `dripfeed outcomes BUCKET`

use clap::{Args, Subcommand};
use dripfeed_job::{BucketName, Ending};

use crate::client::ConnectionArgs;
use crate::command::export::{self, CsvColumn, ExportArgs, Exported};
use crate::command::listing::print_pages;
use crate::exit::Failure;
use crate::output::{Column, shown};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Name of the bucket
    bucket: BucketName,
    #[command(subcommand)]
    command: Option<OutcomesCommand>,
    #[command(flatten)]
    connection: ConnectionArgs,
}

#[derive(Debug, Subcommand)]
enum OutcomesCommand {
    /// List them, oldest first (default)
    List {
        /// Maximum number of outcomes
        #[arg(long, value_name = "NUMBER", default_value_t = 100)]
        limit: usize,
        #[command(flatten)]
        filter: FilterArgs,
    },
    /// Write all of them to standard output, as NDJSON or CSV
    Export {
        #[command(flatten)]
        export: ExportArgs,
        #[command(flatten)]
        filter: FilterArgs,
    },
}

#[derive(Args, Debug, Default)]
struct FilterArgs {
    /// Only jobs that ended at or after this time, such as 2030-01-01T12:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only jobs that ended at or before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only delivered, dead, expired or cancelled jobs
    #[arg(long)]
    outcome: Option<Ending>,
}

impl FilterArgs {
    fn pairs(&self) -> Vec<(&'static str, String)> {
        let outcome = self.outcome.map(|outcome| outcome.to_string());
        let all = [("since", self.since.clone()), ("until", self.until.clone()), ("outcome", outcome)];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

const COLUMNS: [Column; 6] = [
    ("ID", |job| shown(job, "/id")),
    ("OUTCOME", |job| shown(job, "/state")),
    ("ENDED", |job| shown(job, "/outcome/settled_at")),
    ("ATTEMPTS", |job| shown(job, "/outcome/attempts")),
    ("STATUS", |job| shown(job, "/outcome/status")),
    ("REASON", |job| shown(job, "/outcome/reason")),
];

const CSV: [CsvColumn; 13] = [
    ("id", "/id"),
    ("bucket", "/bucket"),
    ("caller", "/caller"),
    ("accepted_at", "/accepted_at"),
    ("settled_at", "/outcome/settled_at"),
    ("result", "/outcome/result"),
    ("reason", "/outcome/reason"),
    ("status", "/outcome/status"),
    ("attempts", "/outcome/attempts"),
    ("answer", "/outcome/body"),
    ("answer_base64", "/outcome/base64"),
    ("truncated", "/outcome/truncated"),
    ("answer_encoding", "/outcome/content_encoding"),
];

pub(crate) async fn run(Arguments { bucket, command, connection }: &Arguments) -> Result<(), Failure> {
    let (server, path) = (connection.server()?, format!("/v1/buckets/{bucket}/outcomes"));
    match command {
        None => print_pages(server.list(&path, &[], 100), &COLUMNS, connection.output()).await,
        Some(OutcomesCommand::List { limit, filter }) => {
            print_pages(server.list(&path, &filter.pairs(), *limit), &COLUMNS, connection.output()).await
        }
        Some(OutcomesCommand::Export { export, filter }) => {
            let what = Exported { path: &path, filters: filter.pairs(), columns: &CSV, about: None };
            export::refuse_output(connection)?;
            export::run(&server, what, *export).await
        }
    }
}
