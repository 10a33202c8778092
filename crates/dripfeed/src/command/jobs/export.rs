//! `dripfeed jobs BUCKET export`

use clap::Args;

use super::filter::FilterArgs;
use crate::command::export::{self, CsvColumn, ExportArgs, Exported};
use crate::exit::{Exit, Failure};

#[derive(Args, Debug)]
pub(super) struct Arguments {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    export: ExportArgs,
}

const CSV: [CsvColumn; 17] = [
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
    ("truncated", "/outcome/truncated"),
    ("answer_encoding", "/outcome/content_encoding"),
];

/// Filters may precede `export`, too. The other options of the list are refused.
pub(super) async fn run(list: &super::Arguments, arguments: &Arguments) -> Result<(), Failure> {
    let (bucket, filter) = (&list.bucket, arguments.filter.or(&list.filter));
    export::refuse_output(&list.connection)?;
    refuse_others(list, &filter).map_err(|message| Failure::new(Exit::Usage, message))?;
    let (server, filters) = (list.connection.server()?, list.pairs(&filter));
    let about = if filters.is_empty() { export::about(&server, bucket, "level").await } else { None };
    let path = format!("/v1/buckets/{bucket}/jobs");
    export::run(&server, Exported { path: &path, filters, columns: &CSV, about }, arguments.export).await
}

fn refuse_others(list: &super::Arguments, filter: &FilterArgs) -> Result<(), String> {
    let bucket = &list.bucket;
    if list.cancel {
        return Err(format!(
            "`export` cancels nothing: write `dripfeed jobs {bucket} export` with the same filters, then \
                `dripfeed jobs {bucket} --cancel`"
        ));
    }
    if list.limit.is_some() {
        return Err(format!(
            "`export` writes all jobs that match: leave --limit out, or write `dripfeed jobs {bucket} --limit \
                NUMBER -o json`"
        ));
    }
    if list.idempotency_key.is_some() && filter.has_more_than_caller() {
        return Err(
            "--idempotency-key finds one job in any state: leave --state, --older-than, --since and --until out"
                .to_owned(),
        );
    }
    Ok(())
}
