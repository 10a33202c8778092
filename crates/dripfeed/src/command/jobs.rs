//! `dripfeed jobs BUCKET`

use clap::Args;
use dripfeed_job::{BucketName, State};

use crate::client::Asking;
use crate::exit::Failure;
use crate::output::{self, Column, Format, shown};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    bucket: BucketName,
    /// Only these: waiting, in_flight, parked, delivered, dead, expired or cancelled [default: all in the bucket]
    #[arg(long)]
    state: Option<State>,
    /// The most jobs
    #[arg(long, default_value_t = 100)]
    limit: usize,
    #[command(flatten)]
    asking: Asking,
}

const COLUMNS: [Column; 7] = [
    ("ID", |job| shown(job, "/id")),
    ("STATE", |job| shown(job, "/state")),
    ("ATTEMPTS", |job| shown(job, "/attempts")),
    ("ACCEPTED", |job| shown(job, "/accepted_at")),
    ("DUE", |job| shown(job, "/due_at")),
    ("CALLER", |job| shown(job, "/caller")),
    ("REASON", |job| shown(job, "/outcome/reason")),
];

pub(super) async fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { bucket, state, limit, asking } = arguments;
    let filters: Vec<_> = state.iter().map(|state| ("state", state.to_string())).collect();
    let jobs = asking.server()?.list(&format!("/v1/buckets/{bucket}/jobs"), &filters, *limit).await?;
    match asking.output {
        Format::Table => output::rows(&COLUMNS, &jobs)?,
        Format::Json => output::json(&jobs)?,
    }
    Ok(())
}
