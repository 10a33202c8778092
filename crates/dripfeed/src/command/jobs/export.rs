//! `dripfeed jobs BUCKET export`

use clap::Args;

use super::filter::FilterArgs;
use crate::command::export::{self, CsvColumn, ExportArgs, Exported};
use crate::exit::Failure;

#[derive(Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    filter: FilterArgs,
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
    let filters = arguments.filter.or(&list.filter).pairs();
    let about = if filters.is_empty() { export::about(&server, bucket, "level").await } else { None };
    let path = format!("/v1/buckets/{bucket}/jobs");
    export::run(&server, Exported { path: &path, filters, columns: &CSV, about }, arguments.export).await
}
