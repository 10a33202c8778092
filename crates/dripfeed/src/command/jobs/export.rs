//! `dripfeed jobs BUCKET export`

use clap::Args;
use dripfeed_job::JobState;

use crate::command::export::{self, CsvColumn, ExportArgs, Exported};
use crate::exit::Failure;

#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// Only jobs in this state: waiting, in_flight, parked, delivered, dead, expired or cancelled [default: all in the
    /// bucket]
    #[arg(long)]
    state: Option<JobState>,
    #[command(flatten)]
    export: ExportArgs,
}

const CSV: [CsvColumn; 15] = [
    ("id", "/id"),
    ("bucket", "/bucket"),
    ("caller", "/caller"),
    ("state", "/state"),
    ("attempts", "/attempts"),
    ("accepted_at", "/accepted_at"),
    ("due_at", "/due_at"),
    ("priority", "/priority"),
    ("group", "/group"),
    ("consumer", "/consumer"),
    ("settled_at", "/outcome/settled_at"),
    ("status", "/outcome/status"),
    ("reason", "/outcome/reason"),
    ("answer", "/outcome/body"),
    ("answer_base64", "/outcome/base64"),
];

pub(super) async fn run(list: &super::Arguments, arguments: &Arguments) -> Result<(), Failure> {
    let (server, bucket) = (list.connection.server()?, &list.bucket);
    let state = arguments.state.or(list.state);
    let filters: Vec<_> = state.iter().map(|state| ("state", state.to_string())).collect();
    let about = if state.is_none() { export::about(&server, bucket, "level").await } else { None };
    let path = format!("/v1/buckets/{bucket}/jobs");
    export::run(&server, Exported { path: &path, filters, columns: &CSV, about }, arguments.export).await
}
